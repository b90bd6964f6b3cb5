#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hardware/record_transfer.h"
#include "tuner/command_records.h"
#include "tuner/command_status.h"
#include "tuner/printable.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

// The runs that `records prune` was asked to take out.
absl::StatusOr<std::vector<std::string>> ChosenRuns(RecordStore& store,
                                                    const RecordsOptions& options) {
  if (!options.runs.empty()) return options.runs;
  const absl::StatusOr<std::vector<RunRecord>> runs = store.ListRuns();
  if (!runs.ok()) return runs.status();
  std::vector<std::string> chosen;
  const int64_t limit =
      options.older_than_days
          ? absl::ToUnixMicros(absl::Now() - absl::Hours(24 * *options.older_than_days))
          : absl::ToUnixMicros(absl::InfiniteFuture());
  for (const RunRecord& run : *runs) {
    if (run.started_unix_micros < limit) chosen.push_back(run.id);
  }
  return chosen;
}

}  // namespace

absl::Status MergeRecords(RecordStore& store, const RecordsOptions& options, std::ostream& out) {
  int64_t differing = 0;
  for (const std::string& url : options.files) {
    absl::StatusOr<std::unique_ptr<RecordStore>> from = OpenExistingStore(url);
    if (!from.ok()) return from.status();
    const absl::StatusOr<MergeCounts> counts = MergeStore(**from, store);
    if (!counts.ok()) return counts.status();
    for (const std::string& where : counts->differing) {
      out << PrintableLine(
                 absl::StrCat(url, ": ", where, " differs from the one here, which stays"))
          << "\n";
    }
    differing += static_cast<int64_t>(counts->differing.size());
    out << PrintableLine(url) << ": " << FormatCount(counts->added.runs) << " runs, "
        << FormatCount(counts->added.kernels) << " kernels, "
        << FormatCount(counts->added.candidates) << " candidates added\n";
  }
  if (differing == 0) return absl::OkStatus();
  return WithExitCode(kExitBadInput,
                      absl::AlreadyExistsError(absl::StrCat(
                          differing, " records are in both stores with different content")));
}

absl::Status PruneRecords(RecordStore& store, const RecordsOptions& options, std::ostream& out) {
  if (options.runs.empty() && !options.older_than_days && !options.proposed_only) {
    return WithExitCode(kExitWrongUse, absl::InvalidArgumentError(
                                           "prune takes --run, --older-than-days or --proposed"));
  }
  const absl::StatusOr<std::vector<std::string>> runs = ChosenRuns(store, options);
  if (!runs.ok()) return runs.status();
  const absl::StatusOr<PruneCounts> counts = store.Prune(
      {.runs = *runs, .proposed_only = options.proposed_only, .dry_run = options.dry_run});
  if (absl::IsNotFound(counts.status())) return WithExitCode(kExitBadInput, counts.status());
  if (!counts.ok()) return counts.status();
  out << FormatCount(counts->runs) << " runs, " << FormatCount(counts->kernels) << " kernels, "
      << FormatCount(counts->candidates)
      << (options.dry_run ? " candidates would be taken out\n" : " candidates taken out\n");
  return absl::OkStatus();
}

}  // namespace autotune
