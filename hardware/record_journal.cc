#include "hardware/record_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "hardware/atomic_file.h"
#include "hardware/record_store_rows.h"
#include "hardware/record_transfer_json.h"
#include "hlo/read_file.h"
#include "nlohmann/json.hpp"

namespace autotune {
namespace {

using nlohmann::json;

constexpr size_t kChecksumDigits = 16;

std::string LineOf(const json& object) {
  const std::string text = object.dump(-1, ' ', false, json::error_handler_t::replace);
  return absl::StrCat(absl::Hex(TextChecksum({text}), absl::kZeroPad16), " ", text, "\n");
}

// The JSON of a line without its end.
absl::StatusOr<json> JsonOf(absl::string_view line) {
  uint64_t checksum = 0;
  if (line.size() < kChecksumDigits + 1 ||
      !absl::SimpleHexAtoi(line.substr(0, kChecksumDigits), &checksum)) {
    return absl::InvalidArgumentError("it has no checksum");
  }
  const absl::string_view text = line.substr(kChecksumDigits + 1);
  if (static_cast<uint64_t>(TextChecksum({text})) != checksum) {
    return absl::InvalidArgumentError("its checksum is wrong");
  }
  json object = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return absl::InvalidArgumentError("it is no JSON object");
  return object;
}

}  // namespace

absl::Status RecordJournal::SystemError(absl::string_view what) const {
  const int error = errno;  // before anything can change it
  return ErrnoStatus(absl::StrCat(path_, ": ", what), error);
}

absl::StatusOr<std::unique_ptr<RecordJournal>> RecordJournal::Open(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  std::unique_ptr<RecordJournal> journal(new RecordJournal(path, descriptor));
  if (descriptor < 0) return journal->SystemError("the journal cannot be opened");
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": another autotune is at work on this run"));
  }
  if (absl::Status status = journal->Read(); !status.ok()) return status;
  return journal;
}

RecordJournal::~RecordJournal() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::Status RecordJournal::TakeLine(absl::string_view line) {
  const absl::StatusOr<json> object = JsonOf(line);
  if (!object.ok()) return object.status();
  if (const auto state = object->find("checkpoint"); state != object->end()) {
    std::string bytes;
    if (!state->is_string() || !absl::Base64Unescape(state->get<std::string>(), &bytes)) {
      return absl::InvalidArgumentError("its checkpoint is no base64");
    }
    checkpoint_ = std::move(bytes);
    return absl::OkStatus();
  }
  absl::StatusOr<CandidateRecord> record = CandidateFromJson(*object);
  if (!record.ok()) return record.status();
  pending_.push_back(*std::move(record));
  return absl::OkStatus();
}

absl::Status RecordJournal::Read() {
  const absl::StatusOr<std::string> content = ReadWholeFile(path_);
  if (!content.ok()) return content.status();
  std::vector<std::string> damaged;
  for (absl::string_view rest = *content; !rest.empty();) {
    const size_t end = rest.find('\n');
    if (end == absl::string_view::npos) break;
    const absl::string_view line = rest.substr(0, end);
    if (!TakeLine(line).ok()) damaged.emplace_back(line);
    rest.remove_prefix(end + 1);
    size_ += static_cast<int64_t>(end) + 1;
  }
  if (ftruncate(descriptor_, size_) != 0) return SystemError("the journal cannot be written");
  if (damaged.empty()) return absl::OkStatus();
  if (absl::Status status = SetAside(damaged); !status.ok()) return status;
  // Else they stay until the others are stored: a journal is never written in place.
  return empty() ? Clear() : absl::OkStatus();
}

absl::Status RecordJournal::SetAside(const std::vector<std::string>& lines) {
  absl::StatusOr<std::string> kept = ReadWholeFile(SetAsidePath());
  if (absl::IsNotFound(kept.status())) kept = std::string();
  if (!kept.ok()) return kept.status();
  const std::set<std::string> known = absl::StrSplit(*kept, '\n');
  for (const std::string& line : lines) {
    if (known.contains(line)) continue;  // by a start that ended before the others were stored
    absl::StrAppend(&*kept, line, "\n");
    ++set_aside_;
  }
  return set_aside_ == 0 ? absl::OkStatus() : WriteFileAtomically(SetAsidePath(), *kept);
}

absl::Status RecordJournal::Append(absl::Span<const CandidateRecord> records,
                                   const std::optional<std::string>& checkpoint) {
  std::string lines;
  for (const CandidateRecord& record : records) lines += LineOf(CandidateToJson(record));
  if (checkpoint.has_value()) lines += LineOf({{"checkpoint", absl::Base64Escape(*checkpoint)}});
  size_t done = 0;
  while (done < lines.size()) {
    const ssize_t written = pwrite(descriptor_, lines.data() + done, lines.size() - done,
                                   static_cast<off_t>(size_ + static_cast<int64_t>(done)));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += static_cast<size_t>(written);
  }
  if (done < lines.size() || fdatasync(descriptor_) != 0) {
    absl::Status status = SystemError("results cannot be written to the journal");
    // Half a batch must not come back at the next start.
    (void)!ftruncate(descriptor_, size_);
    return status;
  }
  size_ += static_cast<int64_t>(lines.size());
  pending_.insert(pending_.end(), records.begin(), records.end());
  if (checkpoint.has_value()) checkpoint_ = checkpoint;
  return absl::OkStatus();
}

absl::Status RecordJournal::Clear() {
  pending_.clear();
  checkpoint_ = std::nullopt;
  if (size_ == 0) return absl::OkStatus();
  size_ = 0;
  // Not synced: old lines that come back after a crash are stored already, and storing them again
  // changes nothing.
  return ftruncate(descriptor_, 0) == 0 ? absl::OkStatus()
                                        : SystemError("the journal cannot be written");
}

}  // namespace autotune
