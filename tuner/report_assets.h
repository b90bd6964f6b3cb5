#ifndef AUTOTUNE_TUNER_REPORT_ASSETS_H_
#define AUTOTUNE_TUNER_REPORT_ASSETS_H_

#include "absl/strings/string_view.h"

namespace autotune {

// What every HTML report carries inside itself; embedded into the binary when it is built (see
// tuner/extra.cmake), so that a report needs no network and the binary no files.

// The style sheet, tuner/report/report.css.
absl::string_view ReportCss();
// The script that draws the charts, tuner/report/report.js.
absl::string_view ReportJs();
// Chart.js 3.9 (MIT), minified, from Debian's package libjs-chart.js.
absl::string_view ChartJs();

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_REPORT_ASSETS_H_
