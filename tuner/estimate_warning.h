#ifndef AUTOTUNE_TUNER_ESTIMATE_WARNING_H_
#define AUTOTUNE_TUNER_ESTIMATE_WARNING_H_

#include "tuner/tuning_report.h"

namespace autotune {

// Adds a warning to a report of estimates if, for kernels as the compiler tiles them, the
// compiler's own estimate differs by more than kEstimateDisagreement (hardware/sweep_coverage.h):
// how many of how many, and the kernel of the program's time for which it matters most. Adds
// nothing to reports of hardware times.
void AddEstimateWarning(TuningReport& report);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_ESTIMATE_WARNING_H_
