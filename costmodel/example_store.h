#ifndef AUTOTUNE_COSTMODEL_EXAMPLE_STORE_H_
#define AUTOTUNE_COSTMODEL_EXAMPLE_STORE_H_

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "costmodel/example.h"

namespace autotune {

// What is kept in memory of every example of a store.
struct ExampleInfo {
  std::string program;
  std::string kernel;
  uint64_t fingerprint = 0;
  std::string device;
  int64_t configs = 0;
};

// Featurised examples in a scratch file, so that a data set may be larger than memory: examples are
// appended once and then read in any order. At most `memory_bytes` of recently read examples are
// kept. The file has no name and vanishes with the store.
//
// Add must not run at the same time as anything else; Read and info are thread-safe.
class ExampleStore {
 public:
  // The file lies in `directory`. Fails where it cannot be made.
  static absl::StatusOr<std::unique_ptr<ExampleStore>> Create(const std::string& directory,
                                                              int64_t memory_bytes);
  ~ExampleStore();
  ExampleStore(const ExampleStore&) = delete;
  ExampleStore& operator=(const ExampleStore&) = delete;

  // ResourceExhausted if the disk is full.
  absl::Status Add(const KernelExample& example);

  int64_t size() const { return static_cast<int64_t>(infos_.size()); }
  // REQUIRES: 0 <= i < size().
  const ExampleInfo& info(int64_t i) const { return infos_[static_cast<size_t>(i)]; }
  absl::StatusOr<std::shared_ptr<const KernelExample>> Read(int64_t i) const;

  // The most that was kept at any time, and all that was added.
  int64_t peak_memory_bytes() const;
  int64_t total_bytes() const { return total_bytes_; }

 private:
  struct Place {
    int64_t offset = 0;
    int64_t size = 0;
  };
  struct Kept {
    int64_t example = 0;
    int64_t bytes = 0;
    std::shared_ptr<const KernelExample> value;
  };

  ExampleStore(int file, int64_t memory_bytes) : file_(file), memory_bytes_(memory_bytes) {}
  void Keep(int64_t i, std::shared_ptr<const KernelExample> value) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int file_;
  const int64_t memory_bytes_;
  std::vector<ExampleInfo> infos_;
  std::vector<Place> places_;
  int64_t file_bytes_ = 0;
  int64_t total_bytes_ = 0;

  mutable absl::Mutex mutex_;
  // The most recently read first.
  mutable std::list<Kept> kept_ ABSL_GUARDED_BY(mutex_);
  mutable absl::flat_hash_map<int64_t, std::list<Kept>::iterator> kept_at_ ABSL_GUARDED_BY(mutex_);
  mutable int64_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  mutable int64_t peak_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_EXAMPLE_STORE_H_
