// Speed of the HLO front end on one program: text to module, protobuf to module, module to text,
// cost analysis; and the memory that reading takes. compare_xla_speed.py sets XLA's beside it.
//
// The program is AUTOTUNE_BENCH_HLO, a file of HLO text, else a generated one of about 3 MB, which
// AUTOTUNE_BENCH_WRITE, the name of a file, keeps.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "hlo/cost_analysis.h"
#include "hlo/parser.h"
#include "hlo/printer.h"
#include "hlo/read_file.h"
#include "hlo/read_module.h"

namespace autotune {
namespace {

// Many short instructions, as a traced JAX program has before optimisation.
std::string GeneratedProgram() {
  std::string text =
      "HloModule generated, entry_computation_layout={(f32[128,128]{1,0})->f32[128,128]{1,0}}\n\n";
  constexpr int kSteps = 4000;
  for (int i = 0; i < kSteps; ++i) {
    absl::StrAppend(&text, "region_", i, " {\n  reduce_sum.", 2 * i,
                    " = f32[] parameter(0)\n  reduce_sum.", 2 * i + 1, " = f32[] parameter(1)\n");
    absl::StrAppend(&text, "  ROOT sum.", i, " = f32[] add(reduce_sum.", 2 * i, ", reduce_sum.",
                    2 * i + 1, ")\n}\n\n");
  }
  absl::StrAppend(
      &text, "ENTRY main {\n  x.0 = f32[128,128]{1,0} parameter(0)\n  zero = f32[] constant(0)\n");
  for (int i = 0; i < kSteps; ++i) {
    const std::string metadata =
        absl::StrCat(", metadata={op_name=\"jit(f)/step/", i, "\" source_line=", i % 7 + 1, "}\n");
    absl::StrAppend(&text, "  sine.", i, " = f32[128,128]{1,0} sine(x.", i, ")", metadata);
    absl::StrAppend(&text, "  half.", i, " = f32[] constant(0.", i, ")\n");
    absl::StrAppend(&text, "  spread.", i, " = f32[128,128]{1,0} broadcast(half.", i,
                    "), dimensions={}\n");
    absl::StrAppend(&text, "  mul.", i, " = f32[128,128]{1,0} multiply(sine.", i, ", spread.", i,
                    ")", metadata);
    absl::StrAppend(&text, "  red.", i, " = f32[128]{0} reduce(mul.", i,
                    ", zero), dimensions={0}, to_apply=region_", i, metadata);
    absl::StrAppend(&text, "  row.", i, " = f32[128,128]{1,0} broadcast(red.", i,
                    "), dimensions={1}\n");
    absl::StrAppend(&text, i + 1 == kSteps ? "  ROOT" : "", "  x.", i + 1,
                    " = f32[128,128]{1,0} add(row.", i, ", mul.", i, ")\n");
  }
  return text + "}\n";
}

const std::string& Program() {
  static const std::string& text = *new std::string([] {
    const char* file = std::getenv("AUTOTUNE_BENCH_HLO");
    if (file == nullptr) {
      std::string generated = GeneratedProgram();
      const char* copy = std::getenv("AUTOTUNE_BENCH_WRITE");
      if (copy != nullptr) std::ofstream(copy) << generated;
      return generated;
    }
    absl::StatusOr<std::string> content = ReadWholeFile(file);
    if (content.ok()) return *content;
    std::fprintf(stderr, "%s\n", std::string(content.status().message()).c_str());
    std::exit(2);
  }());
  return text;
}

void Bytes(benchmark::State& state, size_t size) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * size));
}

// A figure of /proc/self/status in bytes; 0 where there is none.
double StatusBytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    double kibibytes = 0;
    if (word == field && status >> kibibytes) return 1024 * kibibytes;
  }
  return 0;
}

// The largest memory while a text is read, without what was there before, in bytes per byte of
// text. Comes first, so that nothing is left over that could be used again.
void BM_ParseTextPeakMemory(benchmark::State& state) {
  const std::string& text = Program();
  for (auto _ : state) {
    std::ofstream("/proc/self/clear_refs") << "5";  // starts VmHWM anew
    const double before = StatusBytes("VmRSS:");
    const auto module = ParseHloText(text);
    const double peak = StatusBytes("VmHWM:") - before;
    state.counters["peak_bytes_per_text_byte"] = peak / static_cast<double>(text.size());
    if (!module.ok()) state.SkipWithError(std::string(module.status().message()).c_str());
  }
}
BENCHMARK(BM_ParseTextPeakMemory)->Iterations(1)->Unit(benchmark::kMillisecond);

void BM_ParseText(benchmark::State& state) {
  for (auto _ : state) {
    const auto module = ParseHloText(Program());
    if (!module.ok()) return state.SkipWithError(std::string(module.status().message()).c_str());
    benchmark::DoNotOptimize(*module);
  }
  Bytes(state, Program().size());
}
BENCHMARK(BM_ParseText)->Unit(benchmark::kMillisecond);

void BM_ReadProto(benchmark::State& state) {
  const std::string bytes = *WriteModule(**ParseHloText(Program()), HloFormat::kModuleProto);
  for (auto _ : state) {
    const auto read = ReadModule(bytes, "module", {.format = HloFormat::kModuleProto});
    if (!read.ok()) return state.SkipWithError(std::string(read.status().message()).c_str());
  }
  Bytes(state, bytes.size());
}
BENCHMARK(BM_ReadProto)->Unit(benchmark::kMillisecond);

void BM_PrintText(benchmark::State& state) {
  const auto module = *ParseHloText(Program());
  size_t size = PrintHlo(*module).size();
  for (auto _ : state) size = PrintHlo(*module).size();
  Bytes(state, size);
}
BENCHMARK(BM_PrintText)->Unit(benchmark::kMillisecond);

void BM_WriteProto(benchmark::State& state) {
  const auto module = *ParseHloText(Program());
  size_t size = 0;
  for (auto _ : state) size = WriteModule(*module, HloFormat::kModuleProto)->size();
  Bytes(state, size);
}
BENCHMARK(BM_WriteProto)->Unit(benchmark::kMillisecond);

void BM_CostAnalysis(benchmark::State& state) {
  const auto module = *ParseHloText(Program());
  // Once before: XLA's are the smallest of several runs over one module, too.
  benchmark::DoNotOptimize(CostAnalysis(*module).total().flops);
  for (auto _ : state) benchmark::DoNotOptimize(CostAnalysis(*module).total().flops);
}
BENCHMARK(BM_CostAnalysis)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace autotune
