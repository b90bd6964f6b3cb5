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

// Names each damaged record, and says what became of them.
absl::Status PruneDamaged(RecordStore& store, bool dry_run, std::ostream& out) {
  const absl::StatusOr<PruneCounts> counts = store.Prune({.damaged = true, .dry_run = dry_run});
  if (!counts.ok()) return counts.status();
  for (const DamagedRecord& record : counts->damaged) {
    out << PrintableLine(absl::StrCat(record.where, ": ", record.what)) << "\n";
  }
  out << CountOf(static_cast<int64_t>(counts->damaged.size()), "damaged record")
      << (dry_run ? " would be taken out or mended (" : " taken out or mended (")
      << CountOf(counts->candidates, "candidate") << " and " << CountOf(counts->kernels, "kernel")
      << " out, " << CountOf(counts->mended_runs, "run") << " mended)\n";
  return absl::OkStatus();
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
    out << PrintableLine(url) << ": " << CountsText(counts->added) << " added\n";
  }
  if (differing == 0) return absl::OkStatus();
  return WithExitCode(kExitBadInput,
                      absl::AlreadyExistsError(absl::StrCat(
                          differing, " records are in both stores with different content")));
}

absl::Status PruneRecords(RecordStore& store, const RecordsOptions& options, std::ostream& out) {
  const bool runs_given = !options.runs.empty() || options.older_than_days || options.proposed_only;
  if (options.damaged && runs_given) return WrongUse("--damaged stands alone, or with --dry-run");
  if (options.damaged) return PruneDamaged(store, options.dry_run, out);
  if (!runs_given) {
    return WrongUse("prune takes --run, --older-than-days, --proposed or --damaged");
  }
  const absl::StatusOr<std::vector<std::string>> runs = ChosenRuns(store, options);
  if (!runs.ok()) return runs.status();
  const absl::StatusOr<PruneCounts> counts = store.Prune(
      {.runs = *runs, .proposed_only = options.proposed_only, .dry_run = options.dry_run});
  if (absl::IsNotFound(counts.status())) return WithExitCode(kExitBadInput, counts.status());
  if (!counts.ok()) return counts.status();
  out << CountsText({counts->runs, counts->kernels, counts->candidates})
      << (options.dry_run ? " would be taken out\n" : " taken out\n");
  return absl::OkStatus();
}

}  // namespace autotune
