#ifndef AUTOTUNE_HARDWARE_RECORD_STORE_SQL_H_
#define AUTOTUNE_HARDWARE_RECORD_STORE_SQL_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hardware/record_store.h"
#include "hardware/record_store_session.h"

namespace autotune {

// The RecordStore over SQL (see record_store_schema.cc for the tables).
class SqlRecordStore : public RecordStore {
 public:
  // The session's schema must be current.
  explicit SqlRecordStore(std::unique_ptr<StoreSession> session) : session_(std::move(session)) {}

  const std::string& url() const override { return session_->location().url; }

  absl::Status BeginRun(const RunRecord& run) override;
  absl::Status FinishRun(const std::string& run_id, int64_t finished_unix_micros,
                         const std::string& outcome) override;
  absl::StatusOr<RunRecord> GetRun(const std::string& run_id) override;
  absl::StatusOr<std::vector<RunRecord>> ListRuns() override;
  absl::Status PutKernels(absl::Span<const Kernel> kernels) override;
  absl::StatusOr<Kernel> GetKernel(uint64_t fingerprint) override;
  absl::Status Append(absl::Span<const CandidateRecord> records,
                      std::optional<std::string> checkpoint) override;
  absl::StatusOr<std::string> LoadCheckpoint(const std::string& run_id) override;
  absl::StatusOr<std::vector<StoredResult>> LookupBefore(uint64_t kernel_fingerprint,
                                                         const MeasurementContext& context,
                                                         VersionMatch match,
                                                         int64_t unix_micros) override;
  absl::StatusOr<std::vector<uint64_t>> MeasuredKernels(const MeasurementContext& context,
                                                        VersionMatch match,
                                                        int64_t unix_micros) override;
  absl::StatusOr<std::vector<CandidateRecord>> RunCandidates(const std::string& run_id) override;
  absl::StatusOr<StoreTotals> Totals() override;
  absl::StatusOr<std::vector<DamagedRecord>> Verify() override;
  absl::StatusOr<PruneCounts> Prune(const PruneRequest& request) override;

 private:
  absl::StatusOr<PruneCounts> PruneRuns(const PruneRequest& request);
  absl::StatusOr<PruneCounts> PruneDamaged(bool dry_run);

  std::unique_ptr<StoreSession> session_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_RECORD_STORE_SQL_H_
