#ifndef AUTOTUNE_HARDWARE_SWEEP_SHARD_H_
#define AUTOTUNE_HARDWARE_SWEEP_SHARD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hardware/config.h"
#include "hardware/measurement.h"
#include "hardware/measurement_backend.h"
#include "hardware/record_journal.h"
#include "hardware/recording.h"
#include "hlo/kernel.h"

namespace autotune {

// The recording of one program while it is made: a file that is written now and then, and
// FILE.journal, which takes each result as soon as it is there, so that a sweep that is killed has
// lost nothing and measures nothing twice. One process at a time works on a file. Not thread-safe.
class SweepShard {
 public:
  // Makes the journal, and so finds out whether the folder can be written to; reads the recording
  // if there is one. FailedPrecondition if another process has it, or if it was recorded with
  // another device, backend or compiler; InvalidArgument if something else is there; the errors of
  // RecordJournal::Open and Recording::Load.
  static absl::StatusOr<std::unique_ptr<SweepShard>> Open(const std::string& path,
                                                          const Capabilities& capabilities);
  // Removes the journal if all of it is in the file.
  ~SweepShard();

  const Recording& recording() const { return recording_; }

  // Puts what waits in the journal of a killed sweep into the recording, and saves it. Results of
  // kernels that are neither there nor in the recording belong to another program and are dropped.
  absl::Status TakeWaiting(const std::vector<Kernel>& kernels);

  // Puts a result into the journal: when it returns OK, the result is on the disk. Results of a
  // batch come in any order; Add, in the order of the batch, makes the recording the same however
  // they came.
  absl::Status Keep(const Kernel& kernel, const Config& config, const Measurement& result,
                    bool is_default);
  // Puts a result that was kept into the recording.
  void Add(const Kernel& kernel, const Config& config, const Measurement& result, bool is_default);

  // Writes the file and empties the journal. REQUIRES: what was kept was added.
  absl::Status Save();

 private:
  SweepShard(std::string path, const Capabilities& capabilities, Recording recording,
             std::unique_ptr<RecordJournal> journal);

  const std::string path_;
  const MeasurementContext context_;
  Recording recording_;
  std::unique_ptr<RecordJournal> journal_;
  int64_t kept_ = 0;
};

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_SWEEP_SHARD_H_
