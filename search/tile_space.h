#ifndef AUTOTUNE_SEARCH_TILE_SPACE_H_
#define AUTOTUNE_SEARCH_TILE_SPACE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/call_once.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "hlo/tile_bounds.h"
#include "search/search_space.h"

namespace autotune {

// What a tile space is made of: one kernel as far as the search needs to know it.
struct TileSpaceSpec {
  // For each dimension, major to minor in physical order, the bounds that the compiler forms, in
  // tiles. `kernel` is empty for a kernel without weights.
  std::vector<std::vector<int64_t>> kernel;
  std::vector<std::vector<int64_t>> output;
  // For each kernel dimension the output dimension that it follows, or -1 for a free one. Empty:
  // all are free.
  std::vector<int> tied_output;
  // The bound of a tied kernel dimension for a bound of the output dimension that it follows. May
  // be null if none is tied.
  std::function<int64_t(int kernel_dimension, int64_t output_bound)> tied_bound;
  // Whether a tile can run (its windows fit in VMEM). Pure and thread-safe; null accepts all.
  std::function<bool(const TileBounds&)> accepts;
};

// The legal tiles of one kernel: every combination of legal bounds per dimension that `accepts`
// accepts. Nothing is stored per tile, so spaces of 10^7 and more cost nothing to hold; each is
// counted, enumerated and sampled lazily.
class TileSpace final : public SearchSpace {
 public:
  struct Options {
    // Size() counts by enumeration where there are at most so many combinations.
    int64_t count_limit = int64_t{1} << 18;
  };

  // Fails with InvalidArgument for a spec without output dimensions, with a dimension without
  // bounds, with bounds below 1, with ties outside of the dimensions, or with more combinations
  // than an int64_t holds.
  static absl::StatusOr<std::unique_ptr<TileSpace>> Create(TileSpaceSpec spec, Options options);
  static absl::StatusOr<std::unique_ptr<TileSpace>> Create(TileSpaceSpec spec) {
    return Create(std::move(spec), Options());
  }

  // Combinations of legal bounds, acceptable or not.
  int64_t combinations() const { return combinations_; }

  std::optional<int64_t> Size() const override;
  bool Contains(const Config& config) const override;
  // In the order of combinations: the last free dimension runs fastest, each from small to large.
  std::unique_ptr<SpaceCursor> NewCursor() const override;
  // Uniform over the space as long as one combination in some thousands is acceptable; in sparser
  // spaces possibly the first one of NewCursor().
  std::optional<Config> Sample(Rng& rng) const override;
  // One bound a step up or down; one up and another down; the bounds of two dimensions swapped.
  std::vector<Config> Neighbours(const Config& config) const override;
  std::optional<Config> RandomNeighbour(const Config& config, Rng& rng) const override;
  // Each free dimension from one of the parents; `a` where no such mix is found that is acceptable.
  Config Crossover(const Config& a, const Config& b, Rng& rng) const override;

 private:
  class Cursor;
  // For each free dimension the position of its bound in the list of legal ones.
  using Choice = absl::InlinedVector<int32_t, 12>;

  // A dimension that is searched.
  struct FreeAxis {
    bool is_kernel;
    size_t dimension;
    std::vector<int64_t> bounds;  // ascending
  };

  TileSpace(TileSpaceSpec spec, Options options);

  absl::Status AddFreeAxes();
  bool IsTied(size_t kernel_dimension) const;
  bool Accepts(const TileBounds& bounds) const;
  TileBounds BoundsOf(const Choice& choice) const;
  Choice ChoiceOf(int64_t combination) const;
  // nullopt if a bound is not legal or a tied one does not follow; the predicate is not asked.
  std::optional<Choice> Find(const TileBounds& bounds) const;
  // A choice as a configuration, or nullopt if it is not acceptable.
  std::optional<Config> Make(const Choice& choice) const;

  // Moves are numbered so that they can be drawn without listing them.
  int64_t MoveCount() const;
  // The choice after a move; nullopt if it leads nowhere.
  std::optional<Choice> Move(const Choice& choice, int64_t move) const;
  std::optional<Choice> SwapMove(const Choice& choice, int64_t i, int64_t j) const;

  const TileSpaceSpec spec_;
  const Options options_;
  std::vector<FreeAxis> axes_;
  int64_t combinations_ = 1;

  mutable absl::once_flag count_once_;
  mutable int64_t count_ = 0;
};

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_TILE_SPACE_H_
