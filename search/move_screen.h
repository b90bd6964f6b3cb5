#ifndef AUTOTUNE_SEARCH_MOVE_SCREEN_H_
#define AUTOTUNE_SEARCH_MOVE_SCREEN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "search/gaussian_process.h"
#include "search/search_space.h"
#include "search/trial_history.h"

namespace autotune {

// Chooses among moves by what was measured so far, where there is no scorer: a measurement costs so
// much more than a guess that the walk should not take the first move that it draws. Guesses are a
// Gaussian process's optimistic bound. Not thread-safe.
class MoveScreen {
 public:
  struct Options {
    // How many deviations below its believed log-seconds a move is taken to be.
    double optimism = 3;
    GaussianProcess::Options process = {.max_size = 192};
    // The beliefs about all of a space of up to so many configurations are kept at hand.
    int64_t table_limit = 2048;
  };

  // The space must outlive the screen.
  explicit MoveScreen(const SearchSpace* space) : MoveScreen(space, Options()) {}
  MoveScreen(const SearchSpace* space, Options options);

  void Add(const Trial& trial) { process_.Add(trial.config, trial.log_seconds, 0); }

  // The first of the moves if nothing was added. REQUIRES: at least one move, all of the space.
  Config MostPromising(std::vector<Config> moves);

 private:
  double Bound(const Config& move) const;

  const SearchSpace* space_;
  Options options_;
  GaussianProcess process_;
  // For a small space, made when first needed: all configurations, and where each is.
  std::optional<RankedCandidates> table_;
  absl::flat_hash_map<uint64_t, int64_t> places_;
};

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_MOVE_SCREEN_H_
