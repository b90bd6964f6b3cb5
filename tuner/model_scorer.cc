#include "tuner/model_scorer.h"

#include <algorithm>
#include <limits>

#include "absl/status/statusor.h"
#include "tbb/blocked_range.h"
#include "tbb/parallel_for.h"

namespace autotune {
namespace {

// Large enough that a task costs far more than handing it out.
constexpr size_t kBlock = 512;

}  // namespace

std::vector<double> ModelScorer::Score(absl::Span<const Config> configs) const {
  std::vector<double> scores(configs.size(), std::numeric_limits<double>::infinity());
  auto score_block = [&](size_t begin, size_t end) {
    absl::StatusOr<std::vector<double>> block =
        model_.Predict(kernel_, configs.subspan(begin, end - begin));
    if (block.ok()) {
      std::copy(block->begin(), block->end(), scores.begin() + static_cast<std::ptrdiff_t>(begin));
      return;
    }
    absl::MutexLock lock(&mutex_);
    status_.Update(block.status());
  };
  if (configs.size() <= kBlock) {
    score_block(0, configs.size());
    return scores;
  }
  tbb::parallel_for(
      tbb::blocked_range<size_t>(0, configs.size(), kBlock),
      [&](const tbb::blocked_range<size_t>& range) { score_block(range.begin(), range.end()); });
  return scores;
}

absl::Status ModelScorer::status() const {
  absl::MutexLock lock(&mutex_);
  return status_;
}

}  // namespace autotune
