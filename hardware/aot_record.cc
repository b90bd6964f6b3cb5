#include "hardware/aot_record.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hardware/sweep_coverage.h"

namespace autotune {
namespace {

// Candidates in one call of the backend: enough to keep its workers busy, few enough to save often.
constexpr size_t kBatch = 16;
// The shard is written at least this often, so that an interrupted sweep goes on where it was.
constexpr absl::Duration kSaveInterval = absl::Seconds(30);

// One kernel with what is still to be measured of it, the compiler's own tile first.
struct Task {
  const Kernel* kernel;
  std::vector<Config> configs;
  std::string default_key;
};

// One configuration that is to be measured.
struct Wanted {
  const Task* task;
  Config config;
};

class Sweep {
 public:
  Sweep(MeasurementBackend& backend, const SweepOptions& options, SweepShard& shard)
      : backend_(backend), options_(options), shard_(shard) {}

  absl::Status Plan(const std::vector<Kernel>& kernels, const TileLister& tiles) {
    for (const Kernel& kernel : kernels) {
      if (!kernel.compiler_choice.has_value()) continue;  // not a tiled operation
      Task task{&kernel, {Config(kernel.compiler_choice->bounds)}, ""};
      task.default_key = task.configs.front().Key();
      absl::StatusOr<std::vector<TileBounds>> listed = tiles(kernel, options_);
      if (!listed.ok()) return listed.status();
      for (const TileBounds& bounds : *listed) {
        Config config(bounds);
        if (config.Key() != task.default_key) task.configs.push_back(std::move(config));
      }
      progress_.configs += static_cast<int64_t>(task.configs.size());
      tasks_.push_back(std::move(task));
    }
    progress_.kernels = static_cast<int64_t>(tasks_.size());
    return absl::OkStatus();
  }

  absl::Status Run() {
    last_save_ = absl::Now();
    for (Task& task : tasks_) RemoveRecorded(&task);
    // The compiler's own tiles come first: a sweep that is stopped has at least those.
    std::vector<Wanted> defaults;
    for (Task& task : tasks_) {
      if (task.configs.empty() || task.configs.front().Key() != task.default_key) continue;
      defaults.push_back({&task, task.configs.front()});
      task.configs.erase(task.configs.begin());
    }
    absl::Status status = MeasureAll(defaults);
    if (status.ok() && !stopped_) LeaveOutHopeless();
    for (Task& task : tasks_) {
      if (!status.ok() || stopped_) break;
      std::vector<Wanted> rest;
      for (const Config& config : task.configs) rest.push_back({&task, config});
      status = MeasureAll(rest);
      progress_.kernels_done += stopped_ ? 0 : 1;
    }
    if (!status.ok()) return status;
    if (!stopped_ && options_.progress != nullptr) options_.progress(progress_);
    return shard_.Save();
  }

 private:
  void RemoveRecorded(Task* task) {
    const RecordedKernel* recorded = shard_.recording().Find(task->kernel->fingerprint);
    if (recorded == nullptr) return;
    const auto known = [&](const Config& config) {
      const RecordedConfig* found = recorded->Find(config.Key());
      if (found != nullptr && found->seconds.empty()) ++progress_.failures;
      return found != nullptr;
    };
    const auto end = std::remove_if(task->configs.begin(), task->configs.end(), known);
    progress_.configs_done += task->configs.end() - end;
    task->configs.erase(end, task->configs.end());
  }

  // Takes the other tiles of kernels whose own one rules them out off the list.
  void LeaveOutHopeless() {
    const TimeSource source = backend_.capabilities().time_source;
    for (Task& task : tasks_) {
      const RecordedKernel* recorded = shard_.recording().Find(task.kernel->fingerprint);
      const RecordedConfig* own = recorded == nullptr ? nullptr : recorded->Find(task.default_key);
      if (own == nullptr || !own->seconds.empty()) continue;
      const Failure& failure = own->failures.front();
      if (task.configs.empty() || !RulesOutKernel(source, failure)) continue;
      progress_.configs -= static_cast<int64_t>(task.configs.size());
      task.configs.clear();
      if (options_.left_out != nullptr) options_.left_out(*task.kernel, failure);
    }
  }

  // In batches, until the caller wants to stop.
  absl::Status MeasureAll(const std::vector<Wanted>& wanted) {
    for (size_t i = 0; i < wanted.size() && !stopped_; i += kBatch) {
      progress_.kernel = wanted[i].task->kernel->name;
      stopped_ = options_.progress != nullptr && !options_.progress(progress_);
      if (stopped_) break;
      absl::Status status = MeasureBatch(absl::MakeConstSpan(wanted).subspan(i, kBatch));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status MeasureBatch(absl::Span<const Wanted> batch) {
    std::vector<Candidate> candidates;
    for (const Wanted& one : batch) candidates.push_back({one.task->kernel, one.config});
    const auto is_default = [&](size_t i) {
      return batch[i].config.Key() == batch[i].task->default_key;
    };
    absl::Status kept;
    const auto keep = [&](size_t i, const Measurement& result) {
      kept.Update(shard_.Keep(*batch[i].task->kernel, batch[i].config, result, is_default(i)));
    };
    const absl::StatusOr<std::vector<Measurement>> results = backend_.MeasureEach(candidates, keep);
    if (!results.ok()) return results.status();
    if (!kept.ok()) return kept;
    for (size_t i = 0; i < batch.size(); ++i) {
      const Measurement& result = (*results)[i];
      shard_.Add(*batch[i].task->kernel, batch[i].config, result, is_default(i));
      progress_.failures += result.ok() ? 0 : 1;
      ++progress_.configs_done;
    }
    if (absl::Now() - last_save_ < kSaveInterval) return absl::OkStatus();
    last_save_ = absl::Now();
    return shard_.Save();
  }

  MeasurementBackend& backend_;
  const SweepOptions& options_;
  SweepShard& shard_;
  std::vector<Task> tasks_;
  SweepProgress progress_;
  bool stopped_ = false;
  absl::Time last_save_;
};

}  // namespace

absl::Status RecordSweep(MeasurementBackend& backend, const std::vector<Kernel>& kernels,
                         const TileLister& tiles, const SweepOptions& options, SweepShard& shard) {
  if (absl::Status status = shard.TakeWaiting(kernels); !status.ok()) return status;
  Sweep sweep(backend, options, shard);
  absl::Status status = sweep.Plan(kernels, tiles);
  if (status.ok()) status = sweep.Run();
  // What a batch that broke off gave is in the journal, if it cannot go into the file.
  if (!status.ok()) shard.TakeWaiting(kernels).IgnoreError();
  return status;
}

absl::StatusOr<Recording> JoinShards(const std::vector<std::string>& paths) {
  if (paths.empty()) return absl::InvalidArgumentError("no shards to join");
  absl::StatusOr<Recording> joined = Recording::Load(paths.front());
  for (size_t i = 1; i < paths.size() && joined.ok(); ++i) {
    absl::StatusOr<Recording> shard = Recording::Load(paths[i]);
    if (!shard.ok()) return shard;
    if (absl::Status status = joined->Merge(*shard); !status.ok()) return status;
  }
  return joined;
}

}  // namespace autotune
