#ifndef AUTOTUNE_HARDWARE_RECORD_STORE_ROWS_H_
#define AUTOTUNE_HARDWARE_RECORD_STORE_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hardware/record_store.h"

namespace autotune {

// A row of the table `candidates`: a CandidateRecord as text and numbers.
struct CandidateRow {
  std::string run;
  int64_t sequence = 0;
  int64_t kernel = 0;
  std::string kernel_name;
  int64_t context = 0;
  std::string config;
  std::string derived;
  std::string fate;
  std::string samples;
  std::string failure;
  std::string message;
  std::string compile_seconds;
  std::string compiler_estimate;
  std::string predictions;
  int64_t recorded = 0;
  // Since schema version 2.
  std::string method;
  bool is_default = false;

  // Over all of the above; the same in every release. What a later schema added counts only where
  // it is not empty, so that older rows keep their checksum.
  int64_t Checksum() const;
};

// Texts are cleaned (CleanText). Never fails.
CandidateRow RowFromCandidate(const CandidateRecord& record);

// The inverse. DataLoss, naming the column, for a row that RowFromCandidate cannot have made.
absl::StatusOr<CandidateRecord> CandidateFromRow(const CandidateRow& row,
                                                 const MeasurementContext& context);

// The measurement of a row alone. DataLoss as above.
absl::StatusOr<Measurement> MeasurementFromColumns(absl::string_view samples,
                                                   absl::string_view failure,
                                                   absl::string_view message, TimeSource source);

// The context with its texts cleaned.
MeasurementContext CleanContext(const MeasurementContext& context);

// A row of the table `kernels`.
struct KernelRow {
  int64_t fingerprint = 0;
  std::string name;
  std::string kernel;  // base64 of a gzip-compressed proto::KernelRecord
  int64_t checksum = 0;
};

// Texts are cleaned. Never fails.
KernelRow RowFromKernel(const Kernel& kernel);
// The inverse. DataLoss, saying what is wrong, for a row that was changed.
absl::StatusOr<Kernel> KernelFromRow(const KernelRow& row);

// The checksum of a row of the table `runs`, since schema version 4.
int64_t RunChecksum(const RunRecord& run);

// The identifying number of a context.
int64_t ContextId(const MeasurementContext& context);

// A checksum over one or more texts.
int64_t TextChecksum(std::initializer_list<absl::string_view> texts);

// The shortest decimal text that reads back as the same double.
std::string DoubleToText(double value);

// `text` as both databases store it: valid UTF-8 without NUL, every other byte replaced by '?'.
std::string CleanText(absl::string_view text);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_RECORD_STORE_ROWS_H_
