#include "hardware/aot_record.h"

#include <unistd.h>

#include <algorithm>
#include <random>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "hlo/tile_geometry.h"

namespace autotune {
namespace {

// Candidates in one call of the backend: enough to keep its workers busy, few enough to save often.
constexpr size_t kBatch = 16;

// Tries for each tile that a sample asks for, before a space is taken for nearly exhausted.
constexpr int64_t kTriesPerTile = 100;

// More combinations than this are not enumerated.
constexpr int64_t kMaxCombinations = int64_t{1} << 20;

RecordedConfig ToRecorded(const Config& config, const Measurement& measurement, bool is_default) {
  RecordedConfig recorded{.config = config};
  recorded.is_default = is_default;
  recorded.compile_seconds = measurement.compile_seconds;
  recorded.compiler_estimate_seconds = measurement.compiler_estimate_seconds;
  if (measurement.ok()) {
    recorded.seconds.assign(measurement.samples().begin(), measurement.samples().end());
  } else {
    recorded.failures.push_back(measurement.failure());
  }
  return recorded;
}

absl::StatusOr<Recording> OpenShard(const std::string& path, const Capabilities& capabilities) {
  RecordingOrigin origin{.device = capabilities.device,
                         .backend = capabilities.name,
                         .versions = capabilities.versions,
                         .source = capabilities.time_source};
  if (access(path.c_str(), F_OK) != 0) return Recording(std::move(origin));
  absl::StatusOr<Recording> shard = Recording::Load(path);
  if (!shard.ok()) return shard;
  if (shard->origin() == origin) return shard;
  return absl::FailedPreconditionError(absl::StrCat(
      path, " was recorded with another device, backend or version (", shard->origin().device, ", ",
      shard->origin().backend, ", ", shard->origin().versions, "): choose another file"));
}

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
  Sweep(MeasurementBackend& backend, const SweepOptions& options, const std::string& path,
        Recording shard)
      : backend_(backend), options_(options), path_(path), shard_(std::move(shard)) {}

  absl::Status Plan(const std::vector<Kernel>& kernels, const TileLister& tiles) {
    double total = 0;
    for (const Kernel& kernel : kernels) total += Weight(kernel);
    for (const Kernel& kernel : kernels) {
      if (!kernel.compiler_choice.has_value()) continue;  // not a tiled operation
      Task task{&kernel, {Config(kernel.compiler_choice->bounds)}, ""};
      task.default_key = task.configs.front().Key();
      if (Weight(kernel) >= options_.min_time_share * total) {
        absl::StatusOr<std::vector<TileBounds>> listed = tiles(kernel, options_);
        if (!listed.ok()) return listed.status();
        for (const TileBounds& bounds : *listed) {
          Config config(bounds);
          if (config.Key() != task.default_key) task.configs.push_back(std::move(config));
        }
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
    for (Task& task : tasks_) {
      if (!status.ok() || stopped_) break;
      std::vector<Wanted> rest;
      for (const Config& config : task.configs) rest.push_back({&task, config});
      status = MeasureAll(rest);
      progress_.kernels_done += stopped_ ? 0 : 1;
    }
    if (!status.ok()) {
      (void)Save();
      return status;
    }
    if (!stopped_ && options_.progress != nullptr) options_.progress(progress_);
    return Save();
  }

 private:
  // The compiler's own estimate of all occurrences, in cycles.
  static double Weight(const Kernel& kernel) {
    if (!kernel.compiler_choice.has_value()) return 0;
    return static_cast<double>(kernel.count) *
           static_cast<double>(kernel.compiler_choice->estimated_cycles.value_or(0));
  }

  void RemoveRecorded(Task* task) {
    const RecordedKernel* recorded = shard_.Find(task->kernel->fingerprint);
    if (recorded == nullptr) return;
    const auto known = [&](const Config& config) {
      return recorded->Find(config.Key()) != nullptr;
    };
    const auto end = std::remove_if(task->configs.begin(), task->configs.end(), known);
    progress_.configs_done += task->configs.end() - end;
    task->configs.erase(end, task->configs.end());
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
    absl::StatusOr<std::vector<Measurement>> results = backend_.Measure(candidates);
    if (!results.ok()) return results.status();
    for (size_t i = 0; i < batch.size(); ++i) {
      const Measurement& result = (*results)[i];
      const Task& task = *batch[i].task;
      const bool is_default = batch[i].config.Key() == task.default_key;
      shard_.FindOrAdd(*task.kernel).Add(ToRecorded(batch[i].config, result, is_default));
      progress_.failures += result.ok() ? 0 : 1;
      ++progress_.configs_done;
    }
    return absl::Now() - last_save_ < options_.save_interval ? absl::OkStatus() : Save();
  }

  absl::Status Save() {
    last_save_ = absl::Now();
    return shard_.Save(path_);
  }

  MeasurementBackend& backend_;
  const SweepOptions& options_;
  const std::string& path_;
  Recording shard_;
  std::vector<Task> tasks_;
  SweepProgress progress_;
  bool stopped_ = false;
  absl::Time last_save_;
};

// Draws and checks tiles of one kernel.
class TileSampler {
 public:
  TileSampler(const TileGeometry& geometry, int64_t vmem_bytes)
      : geometry_(geometry), vmem_bytes_(vmem_bytes) {
    for (size_t i = 0; i < geometry.output_dims().size(); ++i) {
      output_.push_back(geometry.CanonicalOutputBounds(static_cast<int>(i)));
    }
    for (size_t i = 0; i < geometry.kernel_dims().size(); ++i) {
      const int position = static_cast<int>(i);
      const bool tied = geometry.TiedOutputPosition(position) >= 0;
      kernel_.push_back(tied ? std::vector<int64_t>{0} : geometry.CanonicalKernelBounds(position));
    }
  }

  int64_t Combinations() const {
    int64_t product = 1;
    for (const auto* axes : {&output_, &kernel_}) {
      for (const auto& bounds : *axes) {
        if (__builtin_mul_overflow(product, static_cast<int64_t>(bounds.size()), &product)) {
          return INT64_MAX;
        }
      }
    }
    return product;
  }

  // The tile whose bounds `digit(n)`, a number below n, picks for each dimension.
  template <typename Digit>
  TileBounds Pick(Digit digit) const {
    TileBounds bounds;
    for (const auto& axis : output_) bounds.output.push_back(axis[digit(axis.size())]);
    for (size_t i = 0; i < kernel_.size(); ++i) {
      const int output = geometry_.TiedOutputPosition(static_cast<int>(i));
      const int64_t free = kernel_[i][digit(kernel_[i].size())];
      bounds.kernel.push_back(
          output < 0 ? free
                     : geometry_.TiedKernelBound(static_cast<int>(i),
                                                 bounds.output[static_cast<size_t>(output)]));
    }
    return bounds;
  }

  bool Accepts(const TileBounds& bounds) {
    if (!geometry_.Check(bounds).ok()) return false;
    geometry_.Evaluate(bounds, &evaluation_);
    return evaluation_.vmem_bytes <= vmem_bytes_;
  }

 private:
  const TileGeometry& geometry_;
  const int64_t vmem_bytes_;
  std::vector<std::vector<int64_t>> output_;
  std::vector<std::vector<int64_t>> kernel_;
  TileEvaluation evaluation_;
};

}  // namespace

absl::Status RecordSweep(MeasurementBackend& backend, const std::vector<Kernel>& kernels,
                         const TileLister& tiles, const SweepOptions& options,
                         const std::string& path) {
  absl::StatusOr<Recording> shard = OpenShard(path, backend.capabilities());
  if (!shard.ok()) return shard.status();
  Sweep sweep(backend, options, path, *std::move(shard));
  absl::Status status = sweep.Plan(kernels, tiles);
  return status.ok() ? sweep.Run() : status;
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

absl::StatusOr<std::vector<TileBounds>> CanonicalTiles(const Kernel& kernel, int64_t vmem_bytes,
                                                       const SweepOptions& options) {
  std::vector<TileBounds> tiles;
  if (options.sample == 0) return tiles;
  const absl::StatusOr<TileGeometry> geometry = TileGeometry::Create(*kernel.module);
  if (!geometry.ok()) return tiles;  // an operation whose tiles are not known
  TileSampler sampler(*geometry, vmem_bytes);
  const int64_t combinations = sampler.Combinations();
  if (!options.sample.has_value() || combinations <= 2 * *options.sample) {
    if (combinations > kMaxCombinations) {
      return absl::InvalidArgumentError(
          absl::StrCat(kernel.name, " has ", combinations, " tiles: give a sample size"));
    }
    for (int64_t n = 0; n < combinations; ++n) {
      int64_t rest = n;
      const TileBounds bounds = sampler.Pick([&rest](size_t size) {
        const size_t digit = static_cast<size_t>(rest) % size;
        rest /= static_cast<int64_t>(size);
        return digit;
      });
      if (sampler.Accepts(bounds)) tiles.push_back(bounds);
    }
    if (!options.sample.has_value()) return tiles;
  }
  std::mt19937_64 random(options.seed ^ kernel.fingerprint);
  if (!tiles.empty()) {
    while (static_cast<int64_t>(tiles.size()) > *options.sample) {
      tiles.erase(tiles.begin() + static_cast<int64_t>(random() % tiles.size()));
    }
    return tiles;
  }
  absl::flat_hash_set<std::string> seen;
  for (int64_t tries = 0; tries < kTriesPerTile * *options.sample; ++tries) {
    if (static_cast<int64_t>(tiles.size()) == *options.sample) break;
    TileBounds bounds = sampler.Pick([&random](size_t size) { return random() % size; });
    if (sampler.Accepts(bounds) && seen.insert(bounds.Key()).second) {
      tiles.push_back(std::move(bounds));
    }
  }
  return tiles;
}

}  // namespace autotune
