#ifndef AUTOTUNE_HARDWARE_RECORD_JOURNAL_H_
#define AUTOTUNE_HARDWARE_RECORD_JOURNAL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hardware/record_store.h"

namespace autotune {

// A file in which candidates of a run, and the run's newest checkpoint, wait until their store has
// them: one line each, a checksum and the record as JSON. What Append acknowledged is on the disk.
// A last line that a crash cut is dropped (it was never acknowledged); a line that is damaged goes
// into another file (see SetAsidePath), and the rest is used. One process at a time. Not
// thread-safe.
class RecordJournal {
 public:
  // Opens or makes the file, reads what waits in it, and locks it until it is closed.
  // FailedPrecondition if another process has it; NotFound, PermissionDenied, ResourceExhausted as
  // the system says, also where damaged lines cannot be set aside.
  static absl::StatusOr<std::unique_ptr<RecordJournal>> Open(const std::string& path);
  ~RecordJournal();
  RecordJournal(const RecordJournal&) = delete;
  RecordJournal& operator=(const RecordJournal&) = delete;

  const std::string& path() const { return path_; }
  // In the order of Append.
  const std::vector<CandidateRecord>& pending() const { return pending_; }
  // The newest one.
  const std::optional<std::string>& checkpoint() const { return checkpoint_; }
  bool empty() const { return pending_.empty() && !checkpoint_.has_value(); }

  // Damaged lines that Open found and that were not set aside before.
  int64_t set_aside() const { return set_aside_; }
  // The file that has them, as they were.
  std::string SetAsidePath() const { return path_ + ".damaged"; }

  // Adds records and a checkpoint, all or none. ResourceExhausted for a full disk, Unavailable for
  // one that fails.
  absl::Status Append(absl::Span<const CandidateRecord> records,
                      const std::optional<std::string>& checkpoint = std::nullopt);

  // Forgets everything: the store has it.
  absl::Status Clear();

 private:
  RecordJournal(std::string path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}
  absl::Status Read();
  absl::Status TakeLine(absl::string_view line);
  absl::Status SetAside(const std::vector<std::string>& lines);
  absl::Status SystemError(absl::string_view what) const;

  std::string path_;
  int descriptor_;
  int64_t size_ = 0;  // bytes that are acknowledged
  int64_t set_aside_ = 0;
  std::vector<CandidateRecord> pending_;
  std::optional<std::string> checkpoint_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_RECORD_JOURNAL_H_
