#include "search/move_screen.h"

#include <limits>
#include <utility>

namespace autotune {

MoveScreen::MoveScreen(const SearchSpace* space, Options options)
    : space_(space), options_(options), process_(options.process) {}

double MoveScreen::Bound(const Config& move) const {
  if (table_) {
    auto place = places_.find(ConfigHash(move));
    if (place != places_.end()) {
      return table_->BeliefOf(place->second, process_).LowerBound(options_.optimism);
    }
  }
  return process_.Predict(move, 0).LowerBound(options_.optimism);
}

Config MoveScreen::MostPromising(std::vector<Config> moves) {
  if (process_.size() == 0) return std::move(moves[0]);
  const std::optional<int64_t> size = space_->Size();
  if (!table_ && size && *size <= options_.table_limit) {
    std::vector<Config> all = space_->Enumerate(*size);
    for (size_t i = 0; i < all.size(); ++i) places_.emplace(ConfigHash(all[i]), i);
    std::vector<double> scores(all.size(), 0.0);
    table_.emplace(std::move(all), std::move(scores));
  }
  if (table_) table_->Update(process_);
  size_t best = 0;
  double lowest = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < moves.size(); ++i) {
    const double bound = Bound(moves[i]);
    if (bound < lowest) {
      lowest = bound;
      best = i;
    }
  }
  return std::move(moves[best]);
}

}  // namespace autotune
