#include "search/tile_space.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace autotune {
namespace {

constexpr int kSampleTries = 4096;
constexpr int kCrossoverTries = 8;

absl::Status CheckDimensions(const std::vector<std::vector<int64_t>>& dimensions,
                             const char* what) {
  for (size_t i = 0; i < dimensions.size(); ++i) {
    const std::vector<int64_t>& bounds = dimensions[i];
    if (bounds.empty() || *std::min_element(bounds.begin(), bounds.end()) < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("tile space: ", what, " dimension ", i, " has no bounds, or one below 1"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTies(const TileSpaceSpec& spec) {
  if (!spec.tied_output.empty() && spec.tied_output.size() != spec.kernel.size()) {
    return absl::InvalidArgumentError("tile space: one tie per kernel dimension is needed");
  }
  for (int output : spec.tied_output) {
    if (output >= static_cast<int>(spec.output.size()) || (output >= 0 && !spec.tied_bound)) {
      return absl::InvalidArgumentError(
          absl::StrCat("tile space: nothing can follow output dimension ", output));
    }
  }
  return absl::OkStatus();
}

std::vector<int64_t> SortedUnique(std::vector<int64_t> bounds) {
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  return bounds;
}

// The position of a bound in an ascending list, or -1.
int32_t PositionOf(const std::vector<int64_t>& bounds, int64_t bound) {
  auto it = std::lower_bound(bounds.begin(), bounds.end(), bound);
  if (it == bounds.end() || *it != bound) return -1;
  return static_cast<int32_t>(it - bounds.begin());
}

}  // namespace

// Counts through the combinations as an odometer, so that a step is cheap.
class TileSpace::Cursor final : public SpaceCursor {
 public:
  explicit Cursor(const TileSpace& space) : space_(space), choice_(space.axes_.size(), 0) {}

  std::optional<Config> Next() override {
    while (!done_) {
      std::optional<Config> config = space_.Make(choice_);
      Advance();
      if (config) return config;
    }
    return std::nullopt;
  }

 private:
  void Advance() {
    for (size_t i = choice_.size(); i-- > 0;) {
      if (++choice_[i] < static_cast<int32_t>(space_.axes_[i].bounds.size())) return;
      choice_[i] = 0;
    }
    done_ = true;
  }

  const TileSpace& space_;
  Choice choice_;
  bool done_ = false;
};

TileSpace::TileSpace(TileSpaceSpec spec, Options options)
    : spec_(std::move(spec)), options_(options) {}

absl::StatusOr<std::unique_ptr<TileSpace>> TileSpace::Create(TileSpaceSpec spec, Options options) {
  if (spec.output.empty()) {
    return absl::InvalidArgumentError("tile space: a kernel without output dimensions");
  }
  if (absl::Status s = CheckDimensions(spec.kernel, "kernel"); !s.ok()) return s;
  if (absl::Status s = CheckDimensions(spec.output, "output"); !s.ok()) return s;
  if (absl::Status s = CheckTies(spec); !s.ok()) return s;
  auto space = absl::WrapUnique(new TileSpace(std::move(spec), options));
  if (absl::Status s = space->AddFreeAxes(); !s.ok()) return s;
  return space;
}

bool TileSpace::IsTied(size_t kernel_dimension) const {
  return !spec_.tied_output.empty() && spec_.tied_output[kernel_dimension] >= 0;
}

absl::Status TileSpace::AddFreeAxes() {
  for (size_t i = 0; i < spec_.kernel.size(); ++i) {
    if (!IsTied(i)) axes_.push_back({true, i, SortedUnique(spec_.kernel[i])});
  }
  for (size_t i = 0; i < spec_.output.size(); ++i) {
    axes_.push_back({false, i, SortedUnique(spec_.output[i])});
  }
  for (const FreeAxis& axis : axes_) {
    if (__builtin_mul_overflow(combinations_, static_cast<int64_t>(axis.bounds.size()),
                               &combinations_)) {
      return absl::InvalidArgumentError("tile space: more than 2^63 combinations");
    }
  }
  return absl::OkStatus();
}

bool TileSpace::Accepts(const TileBounds& bounds) const {
  return !spec_.accepts || spec_.accepts(bounds);
}

TileBounds TileSpace::BoundsOf(const Choice& choice) const {
  TileBounds bounds;
  bounds.kernel.resize(spec_.kernel.size());
  bounds.output.resize(spec_.output.size());
  for (size_t i = 0; i < axes_.size(); ++i) {
    WindowBounds& target = axes_[i].is_kernel ? bounds.kernel : bounds.output;
    target[axes_[i].dimension] = axes_[i].bounds[choice[i]];
  }
  for (size_t i = 0; i < spec_.kernel.size(); ++i) {
    if (!IsTied(i)) continue;
    bounds.kernel[i] = spec_.tied_bound(static_cast<int>(i), bounds.output[spec_.tied_output[i]]);
  }
  return bounds;
}

TileSpace::Choice TileSpace::ChoiceOf(int64_t combination) const {
  Choice choice(axes_.size(), 0);
  for (size_t i = axes_.size(); i-- > 0;) {
    const auto radix = static_cast<int64_t>(axes_[i].bounds.size());
    choice[i] = static_cast<int32_t>(combination % radix);
    combination /= radix;
  }
  return choice;
}

std::optional<TileSpace::Choice> TileSpace::Find(const TileBounds& bounds) const {
  if (bounds.kernel.size() != spec_.kernel.size() || bounds.output.size() != spec_.output.size()) {
    return std::nullopt;
  }
  Choice choice(axes_.size(), 0);
  for (size_t i = 0; i < axes_.size(); ++i) {
    const WindowBounds& source = axes_[i].is_kernel ? bounds.kernel : bounds.output;
    choice[i] = PositionOf(axes_[i].bounds, source[axes_[i].dimension]);
    if (choice[i] < 0) return std::nullopt;
  }
  if (!(BoundsOf(choice) == bounds)) return std::nullopt;  // a tied bound that does not follow
  return choice;
}

std::optional<Config> TileSpace::Make(const Choice& choice) const {
  TileBounds bounds = BoundsOf(choice);
  if (!Accepts(bounds)) return std::nullopt;
  return Config(std::move(bounds));
}

std::optional<int64_t> TileSpace::Size() const {
  if (combinations_ > options_.count_limit) return std::nullopt;
  absl::call_once(count_once_, [this] {
    for (int64_t i = 0; i < combinations_; ++i) count_ += Accepts(BoundsOf(ChoiceOf(i))) ? 1 : 0;
  });
  return count_;
}

bool TileSpace::Contains(const Config& config) const {
  return config.tile() != nullptr && Find(*config.tile()) && Accepts(*config.tile());
}

std::unique_ptr<SpaceCursor> TileSpace::NewCursor() const {
  return std::make_unique<Cursor>(*this);
}

std::optional<Config> TileSpace::Sample(Rng& rng) const {
  for (int i = 0; i < kSampleTries; ++i) {
    if (std::optional<Config> config = Make(ChoiceOf(UniformIndex(rng, combinations_)))) {
      return config;
    }
  }
  // Few are acceptable, and those are likely to be small tiles: look near the start of the order.
  return Cursor(*this).Next();
}

int64_t TileSpace::MoveCount() const {
  const auto n = static_cast<int64_t>(axes_.size());
  // Steps up and down; ordered pairs (up, down); swaps of unordered pairs.
  return 2 * n + n * (n - 1) + n * (n - 1) / 2;
}

std::optional<TileSpace::Choice> TileSpace::SwapMove(const Choice& choice, int64_t i,
                                                     int64_t j) const {
  Choice moved = choice;
  moved[i] = PositionOf(axes_[i].bounds, axes_[j].bounds[choice[j]]);
  moved[j] = PositionOf(axes_[j].bounds, axes_[i].bounds[choice[i]]);
  if (moved[i] < 0 || moved[j] < 0 || moved == choice) return std::nullopt;
  return moved;
}

std::optional<TileSpace::Choice> TileSpace::Move(const Choice& choice, int64_t move) const {
  const auto n = static_cast<int64_t>(axes_.size());
  Choice moved = choice;
  auto step = [&](int64_t axis, int32_t by) {
    moved[axis] += by;
    return moved[axis] >= 0 && moved[axis] < static_cast<int32_t>(axes_[axis].bounds.size());
  };
  if (move < 2 * n) {
    if (!step(move / 2, move % 2 == 0 ? 1 : -1)) return std::nullopt;
    return moved;
  }
  move -= 2 * n;
  if (move < n * (n - 1)) {
    const int64_t up = move / (n - 1);
    const int64_t other = move % (n - 1);
    const int64_t down = other < up ? other : other + 1;
    if (!step(up, 1) || !step(down, -1)) return std::nullopt;
    return moved;
  }
  move -= n * (n - 1);
  int64_t i = 0;
  while (move >= n - 1 - i) move -= n - 1 - i++;
  return SwapMove(choice, i, i + 1 + move);
}

std::vector<Config> TileSpace::Neighbours(const Config& config) const {
  std::vector<Config> neighbours;
  const std::optional<Choice> choice = Find(*config.tile());
  if (!choice) return neighbours;
  std::vector<Choice> seen;  // a swap can equal a pair of steps
  for (int64_t move = 0; move < MoveCount(); ++move) {
    std::optional<Choice> moved = Move(*choice, move);
    if (!moved || std::find(seen.begin(), seen.end(), *moved) != seen.end()) continue;
    seen.push_back(*moved);
    if (std::optional<Config> neighbour = Make(*moved)) neighbours.push_back(*neighbour);
  }
  return neighbours;
}

std::optional<Config> TileSpace::RandomNeighbour(const Config& config, Rng& rng) const {
  const std::optional<Choice> choice = Find(*config.tile());
  if (!choice) return std::nullopt;
  const auto n = static_cast<int64_t>(axes_.size());
  // Half of the draws are single steps, which are few among all moves.
  for (int64_t i = 0; i < 4 * MoveCount(); ++i) {
    const int64_t move = UniformIndex(rng, Chance(rng, 0.5) ? 2 * n : MoveCount());
    if (std::optional<Choice> moved = Move(*choice, move)) {
      if (std::optional<Config> neighbour = Make(*moved)) return neighbour;
    }
  }
  return SearchSpace::RandomNeighbour(config, rng);
}

Config TileSpace::Crossover(const Config& a, const Config& b, Rng& rng) const {
  const std::optional<Choice> choice_a = Find(*a.tile());
  const std::optional<Choice> choice_b = Find(*b.tile());
  if (!choice_a || !choice_b) return a;
  for (int i = 0; i < kCrossoverTries; ++i) {
    Choice mix = *choice_a;
    for (size_t j = 0; j < mix.size(); ++j) {
      if (Chance(rng, 0.5)) mix[j] = (*choice_b)[j];
    }
    if (std::optional<Config> config = Make(mix)) return *std::move(config);
  }
  return a;
}

}  // namespace autotune
