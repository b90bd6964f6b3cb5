#ifndef AUTOTUNE_HARDWARE_AOT_RECORD_H_
#define AUTOTUNE_HARDWARE_AOT_RECORD_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hardware/aot_backend.h"
#include "hardware/measurement_backend.h"
#include "hardware/recording.h"
#include "hardware/sweep_shard.h"
#include "hlo/module.h"

namespace autotune {

// How far a sweep has come.
struct SweepProgress {
  std::string kernel;  // being measured
  int64_t kernels_done = 0;
  int64_t kernels = 0;
  int64_t configs_done = 0;  // of all kernels, those of earlier runs included
  int64_t configs = 0;
  int64_t failures = 0;
};

// What a sweep measures.
struct SweepOptions {
  // Tiles of each kernel beside the compiler's own: that many, drawn with `seed`; all of them where
  // it is absent.
  std::optional<int64_t> sample;
  uint64_t seed = 1;
  // Called between batches; false stops the sweep (what was measured is saved).
  std::function<bool(const SweepProgress&)> progress;
  // Told of kernels of which only the compiler's own tile is recorded, as a failure, because that
  // rules the others out (RulesOutKernel).
  std::function<void(const Kernel&, const Failure&)> left_out;
};

// The legal tiles of a kernel in a canonical order, or of a kernel that has none an empty list. The
// caller injects it: search spaces live above this folder.
using TileLister =
    std::function<absl::StatusOr<std::vector<TileBounds>>(const Kernel&, const SweepOptions&)>;

// Measures tiles of `kernels` with `backend` into the shard of one program. Goes on where an
// earlier sweep stopped: what the shard holds is not measured again. The compiler's own tile, which
// is measured first for all kernels, is marked as the default.
absl::Status RecordSweep(MeasurementBackend& backend, const std::vector<Kernel>& kernels,
                         const TileLister& tiles, const SweepOptions& options, SweepShard& shard);

// Joins shards into one recording. FailedPrecondition if they do not fit together.
absl::StatusOr<Recording> JoinShards(const std::vector<std::string>& paths);

// The tiles that TileGeometry holds for canonical, without those that `vmem_bytes` cannot hold:
// `sample` of them, drawn with `seed`, or all. Suits as a TileLister; search/tile_space.h has the
// space that the tuner uses.
absl::StatusOr<std::vector<TileBounds>> CanonicalTiles(const Kernel& kernel, int64_t vmem_bytes,
                                                       const SweepOptions& options);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_AOT_RECORD_H_
