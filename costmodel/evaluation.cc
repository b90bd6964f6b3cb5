#include "costmodel/evaluation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <utility>

#include "costmodel/parallel.h"
#include "costmodel/rank_metrics.h"
#include "hardware/measurement.h"

namespace autotune {
namespace {

constexpr double kLongSeconds = 5e-6;

// What a kernel adds to the metrics; bootstrap samples only add these up.
struct KernelTerms {
  std::optional<double> tau;
  ChosenTime chosen;
  double top1 = 0, top5 = 0, top10 = 0;  // per cent
  double errors = 0, long_errors = 0;    // sums of relative errors
  double configs = 0, long_configs = 0;
  size_t program = 0;
};

KernelTerms TermsOf(const ScoredKernel& kernel, size_t program) {
  KernelTerms terms;
  terms.program = program;
  terms.tau = KendallTau(kernel.log_seconds, kernel.seconds);
  const auto top = [&kernel](int64_t k) {
    return 100 * TopKError(kernel.log_seconds, kernel.seconds, k).value_or(0);
  };
  terms.top1 = top(1);
  terms.top5 = top(5);
  terms.top10 = top(10);
  terms.chosen.best_seconds = *std::min_element(kernel.seconds.begin(), kernel.seconds.end());
  terms.chosen.chosen_seconds = terms.chosen.best_seconds * (1 + terms.top1 / 100);
  for (size_t i = 0; i < kernel.seconds.size(); ++i) {
    const double error = std::abs(std::exp(kernel.log_seconds[i]) / kernel.seconds[i] - 1);
    terms.errors += error;
    ++terms.configs;
    if (kernel.seconds[i] < kLongSeconds) continue;
    terms.long_errors += error;
    ++terms.long_configs;
  }
  return terms;
}

// The metrics as plain numbers, in the order of kMetrics.
constexpr MetricEstimate ModelMetrics::*kMetrics[] = {
    &ModelMetrics::kendall_tau, &ModelMetrics::tile_size_ape, &ModelMetrics::program_ape_median,
    &ModelMetrics::top1,        &ModelMetrics::top5,          &ModelMetrics::top10,
    &ModelMetrics::mape,        &ModelMetrics::mape_5us};
constexpr size_t kMetricCount = sizeof(kMetrics) / sizeof(*kMetrics);

double MedianApe(const std::map<size_t, std::vector<ChosenTime>>& programs) {
  std::vector<double> apes;
  apes.reserve(programs.size());
  for (const auto& [program, chosen] : programs) apes.push_back(TileSizeApe(chosen).value_or(0));
  return MedianOf(apes);
}

std::vector<double> Reduce(const std::vector<const KernelTerms*>& kernels) {
  std::vector<double> values(kMetricCount, 0);
  if (kernels.empty()) return values;
  KernelTerms sum;
  double taus = 0, tau_sum = 0;
  std::vector<ChosenTime> chosen;
  std::map<size_t, std::vector<ChosenTime>> programs;
  for (const KernelTerms* kernel : kernels) {
    if (kernel->tau) {
      tau_sum += *kernel->tau;
      ++taus;
    }
    chosen.push_back(kernel->chosen);
    programs[kernel->program].push_back(kernel->chosen);
    sum.top1 += kernel->top1;
    sum.top5 += kernel->top5;
    sum.top10 += kernel->top10;
    sum.errors += kernel->errors;
    sum.configs += kernel->configs;
    sum.long_errors += kernel->long_errors;
    sum.long_configs += kernel->long_configs;
  }
  const auto count = static_cast<double>(kernels.size());
  return {tau_sum / std::max(1.0, taus),
          TileSizeApe(chosen).value_or(0),
          MedianApe(programs),
          sum.top1 / count,
          sum.top5 / count,
          sum.top10 / count,
          100 * sum.errors / std::max(1.0, sum.configs),
          100 * sum.long_errors / std::max(1.0, sum.long_configs)};
}

}  // namespace

absl::StatusOr<std::vector<ScoredKernel>> ScoreStore(const Network* network,
                                                     const ExampleStore& store, int jobs) {
  std::vector<absl::StatusOr<ScoredKernel>> results(static_cast<size_t>(store.size()),
                                                    ScoredKernel());
  ParallelFor(store.size(), jobs, [&](int64_t i) {
    absl::StatusOr<ScoredKernel>& result = results[static_cast<size_t>(i)];
    auto example = store.Read(i);
    if (!example.ok()) {
      result = example.status();
      return;
    }
    const KernelExample& kernel = **example;
    result->info = store.info(i);
    std::vector<float> residuals(kernel.target.size(), 0);
    if (network != nullptr) {
      network->Score(kernel.View(), network->Encode(kernel.View()), kernel.config_features.data(),
                     kernel.configs(), residuals.data(), nullptr, nullptr);
    }
    for (size_t c = 0; c < kernel.target.size(); ++c) {
      result->seconds.push_back(std::exp(static_cast<double>(kernel.target[c])));
      result->log_seconds.push_back(static_cast<double>(kernel.base[c]) + residuals[c]);
    }
  });
  std::vector<ScoredKernel> kernels;
  for (absl::StatusOr<ScoredKernel>& result : results) {
    if (!result.ok()) return result.status();
    kernels.push_back(*std::move(result));
  }
  return kernels;
}

ModelMetrics SummarizeScores(absl::Span<const ScoredKernel> kernels, int samples, uint64_t seed) {
  std::map<std::string, size_t> programs;
  std::vector<KernelTerms> terms;
  ModelMetrics metrics;
  for (const ScoredKernel& kernel : kernels) {
    const size_t program = programs.try_emplace(kernel.info.program, programs.size()).first->second;
    terms.push_back(TermsOf(kernel, program));
    metrics.configs += static_cast<int64_t>(kernel.seconds.size());
  }
  metrics.kernels = static_cast<int64_t>(kernels.size());
  metrics.programs = static_cast<int64_t>(programs.size());
  std::vector<const KernelTerms*> all;
  all.reserve(terms.size());
  for (const KernelTerms& kernel : terms) all.push_back(&kernel);
  const std::vector<double> values = Reduce(all);

  std::vector<std::vector<double>> drawn(kMetricCount);
  std::mt19937_64 random(seed);
  for (int s = 0; s < samples && !terms.empty(); ++s) {
    std::vector<const KernelTerms*> sample;
    for (size_t i = 0; i < terms.size(); ++i) sample.push_back(&terms[random() % terms.size()]);
    const std::vector<double> of_sample = Reduce(sample);
    for (size_t m = 0; m < kMetricCount; ++m) drawn[m].push_back(of_sample[m]);
  }
  for (size_t m = 0; m < kMetricCount; ++m) {
    MetricEstimate& estimate = metrics.*kMetrics[m];
    estimate = {values[m], values[m], values[m]};
    if (drawn[m].empty()) continue;
    std::sort(drawn[m].begin(), drawn[m].end());
    const auto last = static_cast<double>(drawn[m].size() - 1);
    estimate.low = drawn[m][static_cast<size_t>(std::llround(0.025 * last))];
    estimate.high = drawn[m][static_cast<size_t>(std::llround(0.975 * last))];
  }
  return metrics;
}

nlohmann::json ToJson(const ModelMetrics& metrics) {
  static constexpr const char* kNames[kMetricCount] = {
      "kendall_tau",        "tile_size_ape_percent", "program_ape_median_percent",
      "top1_error_percent", "top5_error_percent",    "top10_error_percent",
      "mape_percent",       "mape_5us_percent"};
  nlohmann::json result = {
      {"kernels", metrics.kernels}, {"configs", metrics.configs}, {"programs", metrics.programs}};
  for (size_t m = 0; m < kMetricCount; ++m) {
    const MetricEstimate& estimate = metrics.*kMetrics[m];
    result[kNames[m]] = {{"value", estimate.value}, {"low", estimate.low}, {"high", estimate.high}};
  }
  return result;
}

}  // namespace autotune
