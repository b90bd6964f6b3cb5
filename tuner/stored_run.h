#ifndef AUTOTUNE_TUNER_STORED_RUN_H_
#define AUTOTUNE_TUNER_STORED_RUN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hardware/record_store.h"
#include "hlo/kernel.h"
#include "tuner/tuning_report.h"

namespace autotune {

// What is left of a run: its records, and as much of its surroundings as could be found again.
struct RecordedRun {
  RunRecord run;
  std::vector<CandidateRecord> candidates;  // by sequence
  // The program's kernels, with their counts; those without candidates are reported as not tuned.
  // Kernels of candidates that are not among them are reported under the name of the record.
  std::vector<Kernel> kernels;
  // Of several programs (see ProgramSet), by positions in `kernels`.
  std::vector<ProgramReport> programs;
};

// A report of a run that did not get to write one, from its records: candidates with their fates,
// results and predictions, the best of each kernel, totals and progress by measurements. What no
// record holds stays empty: times of the tuner itself, choices of models, the best known. Pure.
TuningReport ReportFromRecords(const RecordedRun& recorded);

// The report of the run in a folder: that of report.json, or, where the run that run.json names has
// not written one (killed, or still under way), of its records, with a warning that says so.
// `path` may also be a report.json itself. NotFound for a folder without a run, InvalidArgument for
// files that are no such; errors carry the exit code for bad input.
// `self` stands for this program in the commands that the report names.
absl::StatusOr<TuningReport> LoadStoredRun(const std::string& path,
                                           const std::string& self = "autotune");

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_STORED_RUN_H_
