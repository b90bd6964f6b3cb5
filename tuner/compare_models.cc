#include "tuner/compare_models.h"

#include <algorithm>
#include <cmath>

#include "tuner/metrics.h"

namespace autotune {

std::optional<ModelAccuracy> AssessModel(const std::string& model, PredictionUnit unit,
                                         const RecordedKernel& kernel,
                                         absl::Span<const double> predictions,
                                         absl::Span<const int64_t> top_k) {
  ModelAccuracy result = {.model = model, .predicts_seconds = unit == PredictionUnit::kLogSeconds};
  std::vector<double> scores, seconds;
  for (size_t i = 0; i < kernel.configs().size(); ++i) {
    const std::optional<double> median = kernel.configs()[i].MedianSeconds();
    if (!median) continue;
    scores.push_back(predictions[i]);
    seconds.push_back(*median);
    if (!std::isfinite(predictions[i])) ++result.refused;
    result.points.push_back({kernel.configs()[i].config.Key(), predictions[i], *median});
  }
  if (result.refused == static_cast<int64_t>(scores.size())) return std::nullopt;

  result.kendall_tau = KendallTau(scores, seconds);
  for (int64_t k : top_k) result.top_k.push_back({k, TopKError(scores, seconds, k).value_or(0)});
  // The choice that the top-1 error is about: of equal scores the slowest.
  const auto chosen = std::min_element(
      result.points.begin(), result.points.end(), [](const auto& a, const auto& b) {
        const bool a_finite = std::isfinite(a.prediction), b_finite = std::isfinite(b.prediction);
        if (a_finite != b_finite) return a_finite;
        if (a_finite && a.prediction != b.prediction) return a.prediction < b.prediction;
        return a.seconds > b.seconds;
      });
  result.chosen_config = chosen->config;
  result.chosen_seconds = chosen->seconds;
  return result;
}

ModelSummary SummarizeModel(const std::string& model, absl::Span<const KernelComparison> kernels) {
  ModelSummary summary = {.model = model};
  std::vector<ChosenTime> chosen;
  double tau_sum = 0;
  int64_t taus = 0;
  for (const KernelComparison& kernel : kernels) {
    for (const ModelAccuracy& accuracy : kernel.models) {
      if (accuracy.model != model) continue;
      ++summary.kernels;
      chosen.push_back({accuracy.chosen_seconds, kernel.best_seconds});
      if (accuracy.kendall_tau) {
        tau_sum += *accuracy.kendall_tau;
        ++taus;
      }
      summary.mean_top_k.resize(accuracy.top_k.size());
      for (size_t i = 0; i < accuracy.top_k.size(); ++i) {
        summary.mean_top_k[i].k = accuracy.top_k[i].k;
        summary.mean_top_k[i].error += accuracy.top_k[i].error;
      }
    }
  }
  for (TopKStatistic& top : summary.mean_top_k) top.error /= static_cast<double>(summary.kernels);
  if (taus > 0) summary.mean_kendall_tau = tau_sum / static_cast<double>(taus);
  summary.tile_size_ape = TileSizeApe(chosen);
  return summary;
}

}  // namespace autotune
