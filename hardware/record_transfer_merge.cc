#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hardware/record_store_rows.h"
#include "hardware/record_transfer.h"

namespace autotune {
namespace {

constexpr size_t kBatchRecords = 1000;

// One merge, run by run.
class Merger {
 public:
  Merger(RecordStore& from, RecordStore& into) : from_(from), into_(into) {}

  absl::Status MergeRun(const RunRecord& run) {
    absl::StatusOr<std::vector<CandidateRecord>> candidates = from_.RunCandidates(run.id);
    if (!candidates.ok()) return candidates.status();
    absl::Status status = into_.BeginRun(run);
    if (absl::IsAlreadyExists(status)) {
      if (status = DropKnown(run, &*candidates); !status.ok()) return status;
    } else if (!status.ok()) {
      return status;
    } else {
      ++counts_.added.runs;
    }
    if (status = PutKernels(*candidates); !status.ok()) return status;
    const absl::Span<const CandidateRecord> all(*candidates);
    for (size_t start = 0; start < all.size(); start += kBatchRecords) {
      status = into_.Append(all.subspan(start, kBatchRecords));
      if (!status.ok()) return status;
    }
    counts_.added.candidates += static_cast<int64_t>(all.size());
    return absl::OkStatus();
  }

  MergeCounts& counts() { return counts_; }

 private:
  // Leaves the candidates that the target lacks; takes over how the run ended.
  absl::Status DropKnown(const RunRecord& run, std::vector<CandidateRecord>* candidates) {
    const absl::StatusOr<RunRecord> known_run = into_.GetRun(run.id);
    if (!known_run.ok()) return known_run.status();
    if (run.finished_unix_micros > known_run->finished_unix_micros) {
      absl::Status status = into_.FinishRun(run.id, *run.finished_unix_micros, run.outcome);
      if (!status.ok()) return status;
    }
    const absl::StatusOr<std::vector<CandidateRecord>> known = into_.RunCandidates(run.id);
    if (!known.ok()) return known.status();
    std::map<int64_t, int64_t> checksums;
    for (const CandidateRecord& record : *known) {
      checksums[record.sequence] = RowFromCandidate(record).Checksum();
    }
    std::erase_if(*candidates, [&](const CandidateRecord& record) {
      const auto found = checksums.find(record.sequence);
      if (found == checksums.end()) return false;
      if (found->second != RowFromCandidate(record).Checksum()) {
        counts_.differing.push_back(
            absl::StrCat("candidate ", record.sequence, " of run ", run.id));
      }
      return true;
    });
    return absl::OkStatus();
  }

  absl::Status PutKernels(const std::vector<CandidateRecord>& candidates) {
    for (const CandidateRecord& candidate : candidates) {
      if (!seen_.insert(candidate.kernel_fingerprint).second) continue;
      const absl::StatusOr<Kernel> kernel = from_.GetKernel(candidate.kernel_fingerprint);
      if (absl::IsNotFound(kernel.status())) continue;
      if (!kernel.ok()) return kernel.status();
      const absl::Status known = into_.GetKernel(candidate.kernel_fingerprint).status();
      if (known.ok()) continue;
      if (!absl::IsNotFound(known)) return known;
      if (absl::Status status = into_.PutKernels({*kernel}); !status.ok()) return status;
      ++counts_.added.kernels;
    }
    return absl::OkStatus();
  }

  RecordStore& from_;
  RecordStore& into_;
  std::set<uint64_t> seen_;
  MergeCounts counts_;
};

}  // namespace

absl::StatusOr<MergeCounts> MergeStore(RecordStore& from, RecordStore& into) {
  const absl::StatusOr<std::vector<RunRecord>> runs = from.ListRuns();
  if (!runs.ok()) return runs.status();
  Merger merger(from, into);
  for (const RunRecord& run : *runs) {
    if (absl::Status status = merger.MergeRun(run); !status.ok()) return status;
  }
  return std::move(merger.counts());
}

}  // namespace autotune
