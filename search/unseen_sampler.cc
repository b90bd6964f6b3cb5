#include "search/unseen_sampler.h"

#include <memory>
#include <utility>

namespace autotune {
namespace {

constexpr int kTries = 32;
constexpr int64_t kReservoir = 4096;

}  // namespace

void UnseenSampler::Refill(const TrialHistory& history, Rng& rng) {
  rest_.clear();
  int64_t unseen = 0;
  std::unique_ptr<SpaceCursor> cursor = space_->NewCursor();
  while (std::optional<Config> config = cursor->Next()) {
    if (history.Seen(*config)) continue;
    ++unseen;
    // Reservoir sampling: the n-th replaces one of the kept ones with probability kept / n.
    if (unseen <= kReservoir) {
      rest_.push_back(*std::move(config));
    } else if (const int64_t place = UniformIndex(rng, unseen); place < kReservoir) {
      rest_[place] = *std::move(config);
    }
  }
  Shuffle(rest_, rng);
}

std::optional<Config> UnseenSampler::Next(const TrialHistory& history, Rng& rng) {
  for (int i = 0; !enumerating_ && i < kTries; ++i) {
    std::optional<Config> config = space_->Sample(rng);
    if (!config) return std::nullopt;
    if (!history.Seen(*config)) return config;
  }
  enumerating_ = true;
  for (int round = 0; round < 2; ++round) {
    while (!rest_.empty()) {
      Config config = std::move(rest_.back());
      rest_.pop_back();
      if (!history.Seen(config)) return config;
    }
    if (round == 0) Refill(history, rng);
  }
  return std::nullopt;
}

}  // namespace autotune
