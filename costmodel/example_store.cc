#include "costmodel/example_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace autotune {
namespace {

absl::Status FileError(const std::string& what, int error) {
  const std::string message = absl::StrCat(what, ": ", std::strerror(error));
  return error == ENOSPC ? absl::ResourceExhaustedError(message) : absl::UnavailableError(message);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ExampleStore>> ExampleStore::Create(const std::string& directory,
                                                                   int64_t memory_bytes) {
  std::string name = directory + "/examples-XXXXXX";
  const int file = mkstemp(name.data());
  if (file < 0) return FileError(absl::StrCat("a scratch file in ", directory), errno);
  unlink(name.c_str());
  return std::unique_ptr<ExampleStore>(new ExampleStore(file, memory_bytes));
}

ExampleStore::~ExampleStore() { close(file_); }

absl::Status ExampleStore::Add(const KernelExample& example) {
  const std::string bytes = SerializeExample(example);
  size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t n = pwrite(file_, bytes.data() + written, bytes.size() - written,
                             file_bytes_ + static_cast<int64_t>(written));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return FileError("writing examples to a scratch file", n < 0 ? errno : EIO);
    written += static_cast<size_t>(n);
  }
  places_.push_back({file_bytes_, static_cast<int64_t>(bytes.size())});
  infos_.push_back(
      {example.program, example.kernel, example.fingerprint, example.device, example.configs()});
  file_bytes_ += static_cast<int64_t>(bytes.size());
  total_bytes_ += MemoryBytes(example);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const KernelExample>> ExampleStore::Read(int64_t i) const {
  {
    absl::MutexLock lock(&mutex_);
    const auto found = kept_at_.find(i);
    if (found != kept_at_.end()) {
      kept_.splice(kept_.begin(), kept_, found->second);
      return found->second->value;
    }
  }
  const Place& place = places_[static_cast<size_t>(i)];
  std::string bytes(static_cast<size_t>(place.size), '\0');
  size_t read = 0;
  while (read < bytes.size()) {
    const ssize_t n = pread(file_, bytes.data() + read, bytes.size() - read,
                            place.offset + static_cast<int64_t>(read));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return FileError("reading examples from a scratch file", n < 0 ? errno : EIO);
    read += static_cast<size_t>(n);
  }
  absl::StatusOr<KernelExample> example = ParseExample(bytes);
  if (!example.ok()) return example.status();
  auto value = std::make_shared<const KernelExample>(*std::move(example));
  absl::MutexLock lock(&mutex_);
  if (!kept_at_.contains(i)) Keep(i, value);
  return value;
}

void ExampleStore::Keep(int64_t i, std::shared_ptr<const KernelExample> value) const {
  const int64_t bytes = MemoryBytes(*value);
  if (bytes > memory_bytes_) return;
  while (kept_bytes_ + bytes > memory_bytes_) {
    kept_bytes_ -= kept_.back().bytes;
    kept_at_.erase(kept_.back().example);
    kept_.pop_back();
  }
  kept_.push_front({i, bytes, std::move(value)});
  kept_at_[i] = kept_.begin();
  kept_bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, kept_bytes_);
}

int64_t ExampleStore::peak_memory_bytes() const {
  absl::MutexLock lock(&mutex_);
  return peak_bytes_;
}

}  // namespace autotune
