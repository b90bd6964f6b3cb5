// Speed of the shipped models on one kernel of about 40 operations (fusion.191 of the recorded
// TPU v3 kernels, its whole tile space over and over): tile candidates per second, and how soon the
// learned model is ready. CPU time of one thread; scoring is parallel over candidates in
// `autotune`.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "costmodel/analytical_model.h"
#include "costmodel/learned_model.h"
#include "costmodel/network_module.h"
#include "hardware/recording.h"

namespace autotune {
namespace {

constexpr int64_t kCandidates = 8192;

const RecordedKernel& TheKernel() {
  static const Recording& recording = *new Recording(
      Recording::Load(std::string(AUTOTUNE_SOURCE_DIR) + "/examples/alexnet/tpu_v3.pb").value());
  for (const RecordedKernel& kernel : recording.kernels()) {
    if (kernel.kernel().name == "fusion.191") return kernel;
  }
  return recording.kernels()[0];
}

std::vector<Config> Candidates() {
  std::vector<Config> configs;
  while (static_cast<int64_t>(configs.size()) < kCandidates) {
    for (const RecordedConfig& config : TheKernel().configs()) configs.push_back(config.config);
  }
  configs.erase(configs.begin() + kCandidates, configs.end());
  return configs;
}

void Score(const CostModel& model, benchmark::State& state) {
  const std::vector<Config> configs = Candidates();
  for (auto _ : state) {
    auto scores = model.Predict(TheKernel().kernel(), configs);
    if (!scores.ok()) return state.SkipWithError(std::string(scores.status().message()).c_str());
    benchmark::DoNotOptimize(scores->data());
  }
  state.SetItemsProcessed(state.iterations() * kCandidates);
}

void BM_Analytical(benchmark::State& state) {
  Score(AnalyticalModel(FindDeviceSpec("tpu-v3").value()), state);
}
BENCHMARK(BM_Analytical)->Unit(benchmark::kMillisecond);

absl::StatusOr<std::unique_ptr<LearnedModel>> Shipped() {
  absl::StatusOr<ModelFile> file = LoadModel(std::string(AUTOTUNE_SOURCE_DIR) + "/weights/tile");
  if (!file.ok()) return file.status();
  return LearnedModel::Create(*file, FindDeviceSpec("tpu-v3").value(), TimeSource::kEstimate);
}

void BM_Learned(benchmark::State& state) {
  auto model = Shipped();
  if (!model.ok()) return state.SkipWithError(std::string(model.status().message()).c_str());
  Score(**model, state);
}
BENCHMARK(BM_Learned)->Unit(benchmark::kMillisecond);

// From the files to the first score; the first of them also loads LibTorch, which is not counted.
void BM_LearnedReady(benchmark::State& state) {
  if (auto first = Shipped(); !first.ok()) {
    return state.SkipWithError(std::string(first.status().message()).c_str());
  }
  const Config config = TheKernel().configs()[0].config;
  for (auto _ : state) {
    auto model = Shipped();
    benchmark::DoNotOptimize((*model)->Predict(TheKernel().kernel(), {&config, 1}).value()[0]);
  }
}
BENCHMARK(BM_LearnedReady)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace autotune
