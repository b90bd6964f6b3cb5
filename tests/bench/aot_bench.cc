// Compiling recorded tiles ahead of time with libtpu for TPU v3: what a worker that stays up is
// worth against a process for each compile, and where the time goes.
//
//   aot_bench --benchmark_repetitions=5 --benchmark_enable_random_interleaving
//       --benchmark_filter=Compile
//
// gives seconds per candidate and, as counters, the parts of them (start: the process and the
// plugin; compile; read_back: the optimised program; parse: the schedules). NoDump compiles without
// writing schedules: what it takes less is what writing them costs.
//
//   AUTOTUNE_BENCH_TSV=FILE aot_bench --benchmark_filter=Estimates
//
// compiles every recorded tile of every kernel and writes FILE, which has the form of
// tests/hardware/data/aot_v3_estimates.tsv: what the tests of the estimate's bars read.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "hardware/aot_backend.h"
#include "hardware/aot_compiler.h"
#include "hardware/aot_program.h"
#include "hardware/pjrt_discovery.h"
#include "hardware/recording.h"
#include "hardware/worker_process.h"

namespace autotune {
namespace {

enum class Mode { kStayUp, kProcessEach, kNoDump };

const absl::StatusOr<Recording>& Tiles() {
  static const auto& recording = *new absl::StatusOr<Recording>(
      Recording::Load(AUTOTUNE_SHARED_DIR "/data/tpu_v3/kernel_tiles.pb"));
  return recording;
}

const RecordedKernel* FindKernel(const std::string& name) {
  if (!Tiles().ok()) return nullptr;
  for (const RecordedKernel& kernel : Tiles()->kernels()) {
    if (kernel.kernel().name == name) return &kernel;
  }
  return nullptr;
}

absl::StatusOr<std::unique_ptr<AotCompiler>> MakeCompiler(Mode mode) {
  absl::StatusOr<std::string> plugin = FindLibtpu();
  if (!plugin.ok()) return plugin.status();
  absl::StatusOr<std::string> worker = FindWorkerProgram();
  if (!worker.ok()) return worker.status();
  AotCompilerOptions options;
  options.plugin = *plugin;
  options.worker = *worker;
  options.topology = "v3:2x2";
  if (mode == Mode::kNoDump) options.flags = "--xla_jf_dump_llo_text=false";
  return AotCompiler::Create(options);
}

// Ten tiles spread over the recorded ones, as programs.
std::vector<PjrtProgram> ProgramsOf(const RecordedKernel& kernel) {
  std::vector<PjrtProgram> programs;
  const size_t step = std::max<size_t>(1, kernel.configs().size() / 10);
  for (size_t i = 0; i < kernel.configs().size(); i += step) {
    const TileBounds* bounds = kernel.configs()[i].config.tile();
    if (bounds == nullptr) continue;
    programs.push_back({KernelProgram(kernel.kernel(), bounds).SerializeAsString(), "hlo"});
  }
  return programs;
}

void Compile(benchmark::State& state, const std::string& name, Mode mode) {
  const RecordedKernel* kernel = FindKernel(name);
  absl::StatusOr<std::unique_ptr<AotCompiler>> compiler = MakeCompiler(mode);
  if (kernel == nullptr || !compiler.ok()) {
    state.SkipWithError("needs libtpu and the recorded tiles");
    return;
  }
  const std::vector<PjrtProgram> programs = ProgramsOf(*kernel);
  (void)(*compiler)->Compile(programs.front());  // starts the worker that stays up
  AotTimes times;
  double candidates = 0;
  for (auto unused : state) {
    for (const PjrtProgram& program : programs) {
      if (mode == Mode::kProcessEach) (*compiler)->StopWorker();
      auto result = (*compiler)->Compile(program);
      if (!result.ok()) {
        state.SkipWithError("the worker does not start");
        return;
      }
      candidates += 1;
      if (const auto* compiled = std::get_if<AotProgram>(&*result)) times += compiled->times;
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(candidates));
  state.counters["start"] = times.start / candidates;
  state.counters["compile"] = times.compile / candidates;
  state.counters["read_back"] = times.read_back / candidates;
  state.counters["parse"] = times.parse / candidates;
  state.counters["dump_kB"] = static_cast<double>(times.dump_bytes) / 1000 / candidates;
}

void WriteRow(std::FILE* file, const std::string& kernel, const RecordedConfig& config,
              const EstimateInputs& inputs) {
  const Measurement recorded = config.ToMeasurement(TimeSource::kHardware);
  std::fprintf(file, "%s\t%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\n", kernel.c_str(),
               config.config.Key().c_str(), inputs.compute_cycles, inputs.iterations,
               inputs.moved_bytes, inputs.reloaded_bytes, inputs.first_bytes, inputs.runs,
               recorded.ok() ? recorded.MedianSeconds() * 1e9 : 0);
}

void Estimates(benchmark::State& state) {
  const char* path = std::getenv("AUTOTUNE_BENCH_TSV");
  absl::StatusOr<std::unique_ptr<AotBackend>> backend = AotBackend::Create({.target = "v3"});
  std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "w");
  if (file == nullptr || !backend.ok() || !Tiles().ok()) {
    state.SkipWithError("needs AUTOTUNE_BENCH_TSV, libtpu and the recorded tiles");
    return;
  }
  double tiles = 0;
  double estimates = 0;
  for (auto unused : state) {
    for (const RecordedKernel& kernel : Tiles()->kernels()) {
      for (const RecordedConfig& config : kernel.configs()) {
        const TileBounds* bounds = config.config.tile();
        if (bounds == nullptr) continue;  // opaque: there is no tile to compile
        tiles += 1;
        auto result = (*backend)->Estimate(kernel.kernel(), bounds);
        if (!result.ok() || !std::holds_alternative<AotEstimate>(*result)) continue;
        estimates += 1;
        WriteRow(file, kernel.kernel().name, config, std::get<AotEstimate>(*result).inputs);
      }
      std::fflush(file);
    }
  }
  std::fclose(file);
  state.counters["tiles"] = tiles;
  state.counters["estimates"] = estimates;
}

BENCHMARK_CAPTURE(Compile, fusion_232_stay_up, std::string("fusion.232"), Mode::kStayUp)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(Compile, fusion_232_process_each, std::string("fusion.232"), Mode::kProcessEach)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(Compile, fusion_232_no_dump, std::string("fusion.232"), Mode::kNoDump)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(Compile, fusion_191_stay_up, std::string("fusion.191"), Mode::kStayUp)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(Compile, fusion_191_process_each, std::string("fusion.191"), Mode::kProcessEach)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(Compile, fusion_191_no_dump, std::string("fusion.191"), Mode::kNoDump)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(Estimates)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace autotune
