// CanonicalTiles of hardware/aot_record.h.

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "hardware/aot_record.h"
#include "hlo/tile_geometry.h"

namespace autotune {
namespace {

// Tries for each tile that a sample asks for, before a space is taken for nearly exhausted.
constexpr int64_t kTriesPerTile = 100;

// More combinations than this are not enumerated.
constexpr int64_t kMaxCombinations = int64_t{1} << 20;

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
