#include "tuner/compare_run.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "search/builtin.h"
#include "tuner/kernel_search.h"

namespace autotune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<Config> ConfigsOf(const RecordedKernel& kernel) {
  std::vector<Config> configs;
  configs.reserve(kernel.configs().size());
  for (const RecordedConfig& recorded : kernel.configs()) configs.push_back(recorded.config);
  return configs;
}

// Adds measurements to a run until it may end.
class RunRecorder {
 public:
  RunRecorder(const ComparedKernel& kernel, const SearchRunOptions& options)
      : kernel_(kernel), options_(options) {}

  Observation Measure(const Config& config) {
    const ComparedKernel::Answer& answer = kernel_.Measure(config);
    best_ = std::min(best_, answer.seconds);
    clock_ += answer.clock_seconds;
    run_.best_so_far.push_back(best_);
    run_.clock_seconds.push_back(clock_);
    return {config, answer.measurement};
  }

  bool Done() const {
    if (best_ <= kernel_.best_seconds()) return true;
    return options_.max_evaluations &&
           static_cast<int64_t>(run_.best_so_far.size()) >= *options_.max_evaluations;
  }

  SearchRun Take() { return std::move(run_); }

 private:
  const ComparedKernel& kernel_;
  const SearchRunOptions& options_;
  SearchRun run_;
  double best_ = kInfinity;
  double clock_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TableScorer>> TableScorer::Create(const CostModel& model,
                                                                 const RecordedKernel& kernel) {
  const std::vector<Config> configs = ConfigsOf(kernel);
  absl::StatusOr<std::vector<double>> scores = model.Predict(kernel.kernel(), configs);
  if (!scores.ok()) return scores.status();
  if (scores->size() != configs.size()) {
    return absl::InternalError(absl::StrCat("the model ", model.name(), " answered ",
                                            scores->size(), " of ", configs.size(),
                                            " configurations"));
  }
  auto scorer = std::make_unique<TableScorer>();
  for (size_t i = 0; i < configs.size(); ++i) scorer->table_[configs[i].Key()] = (*scores)[i];
  scorer->scores_ = *std::move(scores);
  return scorer;
}

std::unique_ptr<TableScorer> TableScorer::CreateBlind(const RecordedKernel& kernel) {
  auto scorer = std::make_unique<TableScorer>();
  scorer->scores_.assign(kernel.configs().size(), kInfinity);
  return scorer;
}

std::vector<double> TableScorer::Score(absl::Span<const Config> configs) const {
  std::vector<double> scores;
  scores.reserve(configs.size());
  for (const Config& config : configs) {
    const auto found = table_.find(config.Key());
    scores.push_back(found != table_.end() ? found->second : kInfinity);
  }
  return scores;
}

ComparedKernel::ComparedKernel(const RecordedKernel& kernel, TimeSource source,
                               const SimulatedClock& clock)
    : recorded_(kernel), space_(ConfigsOf(kernel)) {
  for (const RecordedConfig& recorded : kernel.configs()) {
    Measurement measurement = recorded.ToMeasurement(source);
    const double seconds = measurement.ok() ? measurement.MedianSeconds() : kInfinity;
    const double cost = SimulatedCost(measurement, clock).total();
    answers_.emplace(recorded.config.Key(), Answer{std::move(measurement), seconds, cost});
  }
  const RecordedConfig* best = kernel.Best();
  best_seconds_ = best != nullptr ? *best->MedianSeconds() : kInfinity;
}

const ComparedKernel::Answer& ComparedKernel::Measure(const Config& config) const {
  return answers_.at(config.Key());
}

absl::StatusOr<SearchRun> RunSearch(const ComparedKernel& kernel, const SearchMethod& method,
                                    const CandidateScorer* scorer,
                                    const SearchRunOptions& options) {
  RunRecorder recorder(kernel, options);
  const RecordedConfig* compiler_default = kernel.recorded().Default();
  std::vector<Observation> observed;
  if (compiler_default != nullptr && (options.with_default || method.IsDefault())) {
    observed.push_back(recorder.Measure(compiler_default->config));
  }
  if (method.IsDefault() || recorder.Done()) return recorder.Take();

  absl::StatusOr<std::unique_ptr<SearchStrategy>> strategy =
      CreateStrategy(method.strategy, &kernel.space(), scorer, options.seed);
  if (!strategy.ok()) return strategy.status();
  KernelSearch search(kernel.space(), scorer, *std::move(strategy),
                      {.model = method.model,
                       .exploration = options.exploration,
                       .spread = options.spread,
                       .seed = options.seed});
  if (!observed.empty()) search.Observe(observed);
  while (!recorder.Done()) {
    const std::vector<RankedCandidate> next = search.Next(1);
    if (next.empty()) break;
    const Observation observation = recorder.Measure(next.front().config);
    search.Observe({&observation, 1});
  }
  return recorder.Take();
}

}  // namespace autotune
