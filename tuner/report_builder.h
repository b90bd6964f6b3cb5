#ifndef AUTOTUNE_TUNER_REPORT_BUILDER_H_
#define AUTOTUNE_TUNER_REPORT_BUILDER_H_

#include "tuner/tuner.h"
#include "tuner/tuning_report.h"
#include "tuner/tuning_session.h"

namespace autotune {

// Gathers what a session found into a report: kernels, model choices, totals, candidates. Does not
// measure; asks `parts.baseline` for its choice of every kernel. Outcome and error stay the
// caller's.
TuningReport BuildReport(const TuningSession& session, const TunerParts& parts,
                         const TunerOptions& options, const TuningTask& task);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_REPORT_BUILDER_H_
