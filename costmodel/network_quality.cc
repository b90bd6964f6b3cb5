// The measures of a network's quality that training is steered by (costmodel/trainer.h).

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "costmodel/parallel.h"
#include "costmodel/rank_metrics.h"
#include "costmodel/trainer.h"

namespace autotune {
namespace {

// What one kernel adds.
struct KernelQuality {
  std::optional<double> tau;
  ChosenTime chosen;
  double top1 = 0;
  double error_sum = 0;
  int64_t configs = 0;
};

KernelQuality QualityOf(const KernelExample& example, const std::vector<double>& scores) {
  KernelQuality quality;
  std::vector<double> seconds(example.target.size());
  for (size_t i = 0; i < seconds.size(); ++i) {
    seconds[i] = std::exp(static_cast<double>(example.target[i]));
    quality.error_sum += std::abs(std::exp(scores[i]) - seconds[i]) / seconds[i];
  }
  quality.tau = KendallTau(scores, seconds);
  quality.top1 = TopKError(scores, seconds, 1).value_or(0);
  quality.chosen.best_seconds = *std::min_element(seconds.begin(), seconds.end());
  quality.chosen.chosen_seconds = quality.chosen.best_seconds * (1 + quality.top1);
  quality.configs = example.configs();
  return quality;
}

RankingQuality Combine(const std::vector<KernelQuality>& kernels) {
  RankingQuality total;
  std::vector<ChosenTime> chosen;
  double taus = 0, errors = 0;
  for (const KernelQuality& kernel : kernels) {
    if (kernel.tau) {
      total.kendall_tau += *kernel.tau;
      ++taus;
    }
    chosen.push_back(kernel.chosen);
    total.top1_error += kernel.top1;
    errors += kernel.error_sum;
    total.configs += kernel.configs;
  }
  total.kernels = static_cast<int64_t>(kernels.size());
  const double count = std::max(1.0, static_cast<double>(kernels.size()));
  total.kendall_tau /= std::max(1.0, taus);
  total.top1_error /= count;
  total.tile_size_ape = TileSizeApe(chosen).value_or(0);
  total.mape = 100 * errors / std::max(1.0, static_cast<double>(total.configs));
  return total;
}

template <typename ScoresOf>
absl::StatusOr<RankingQuality> Assess(const ExampleStore& store, int jobs,
                                      const ScoresOf& scores_of) {
  std::vector<absl::StatusOr<KernelQuality>> results(static_cast<size_t>(store.size()),
                                                     KernelQuality());
  ParallelFor(store.size(), jobs, [&](int64_t i) {
    auto& result = results[static_cast<size_t>(i)];
    auto example = store.Read(i);
    if (example.ok()) {
      result = QualityOf(**example, scores_of(**example));
    } else {
      result = example.status();
    }
  });
  std::vector<KernelQuality> kernels;
  for (absl::StatusOr<KernelQuality>& result : results) {
    if (!result.ok()) return result.status();
    kernels.push_back(*std::move(result));
  }
  return Combine(kernels);
}

}  // namespace

absl::StatusOr<RankingQuality> AssessNetwork(const Network& network, const ExampleStore& store,
                                             int jobs) {
  return Assess(store, jobs, [&network](const KernelExample& example) {
    std::vector<float> residuals(example.target.size());
    network.Score(example.View(), network.Encode(example.View()), example.config_features.data(),
                  example.configs(), residuals.data(), nullptr, nullptr);
    std::vector<double> scores(example.base.begin(), example.base.end());
    for (size_t i = 0; i < scores.size(); ++i) scores[i] += residuals[i];
    return scores;
  });
}

absl::StatusOr<RankingQuality> AssessBase(const ExampleStore& store) {
  return Assess(store, 1, [](const KernelExample& example) {
    return std::vector<double>(example.base.begin(), example.base.end());
  });
}

}  // namespace autotune
