#ifndef AUTOTUNE_TUNER_REPORT_READER_H_
#define AUTOTUNE_TUNER_REPORT_READER_H_

#include <string>

#include "absl/status/statusor.h"
#include "tuner/tuning_report.h"

namespace autotune {

// The inverse of RenderJson: the report of a document of schema "autotune.tune/1". `name` stands
// for the file's name in errors. InvalidArgument for anything else, naming the member; members that
// this version does not know are passed over.
absl::StatusOr<TuningReport> ParseReport(const std::string& text, const std::string& name);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_REPORT_READER_H_
