#ifndef AUTOTUNE_TESTS_TUNER_SAMPLE_REPORT_H_
#define AUTOTUNE_TESTS_TUNER_SAMPLE_REPORT_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "search/random.h"
#include "tuner/speedup_interval.h"
#include "tuner/tuning_report.h"

namespace autotune {

// A made-up run with everything in it that a report shows: failures, reused results, an opaque
// kernel, a kernel that was not tuned, models, all totals. `candidates` are spread over the
// kernels.
inline TuningReport SampleReport(int64_t candidates) {
  TuningReport report;
  report.run_id = "20261129-163000-4f2a9c81d0b3";
  report.autotune_version = "0.1.0";
  report.program = "examples/alexnet/program.hlo";
  report.program_name = "jit_train_step";
  report.backend = "replay";
  report.backend_reason = "a recording was given";
  report.device = "tpu-v3";
  report.strategy = "model-greedy";
  report.model = "analytical";
  report.space = "tile";
  report.seed = 42;
  report.budget = candidates;
  report.started_unix_micros = 1'795'000'000'000'000;
  report.wall_seconds = 1.34;
  report.models = {{"analytical", true}};
  report.recordings = {"examples/alexnet/tpu_v3.pb"};
  report.host = "a-host";
  report.commands = {"autotune program.hlo --recording tpu_v3.pb --seed 42", "",
                     "autotune apply program.hlo --config best.json --out tuned.hlo"};
  report.store = "sqlite:autotune-runs/x/records.db";
  report.store_hits = 3;
  report.store_misses = 7;
  report.warnings = {"reshape.37: recorded without the content of its configurations"};

  const std::vector<std::pair<std::string, double>> kernels = {
      {"fusion.191", 151.6e-6}, {"fusion.232", 57.2e-6}, {"copy.24", 3.97e-6},
      {"fusion.181", 1.45e-6},  {"reshape.37", 270e-6},  {"custom-call.9", 12e-6}};
  Rng rng(7);
  std::vector<double> best;
  for (const auto& [name, seconds] : kernels) {
    KernelReport kernel;
    kernel.name = name;
    kernel.kind = name.substr(0, 6) == "fusion" ? "convolution fusion" : "copy";
    kernel.count = name == "copy.24" ? 12 : 1;
    kernel.opaque = name == "reshape.37";
    if (name == "custom-call.9") kernel.not_tuned = "not in the recording";
    kernel.compiler_default =
        ConfigResult{Config(TileBounds{.output = {4, 2}}),
                     Measurement::FromSamples({seconds, seconds * 1.01}, TimeSource::kHardware)};
    kernel.cost = KernelCost{seconds * 4e13, 0, seconds * 2e11, seconds * 0.7};
    report.kernels.push_back(std::move(kernel));
    best.push_back(seconds);
  }
  double before = 0, clock = 0;
  for (size_t k = 0; k < best.size(); ++k) {
    before += best[k] * static_cast<double>(report.kernels[k].count);
  }
  for (int64_t i = 0; i < candidates; ++i) {
    const size_t k = static_cast<size_t>(i % 5);
    CandidateOutcome outcome;
    outcome.sequence = i;
    outcome.kernel = k;
    outcome.config = k == 4
                         ? Config(OpaqueConfig{i})
                         : Config(TileBounds{.kernel = {3, 1, 24, 3}, .output = {12, 4, 1 + i, 3}});
    outcome.role = i < 5 ? CandidateRole::kDefault : CandidateRole::kSearch;
    const double seconds = kernels[k].second * (0.9 + 1.5 * std::pow(UniformReal(rng), 2) *
                                                          (1 + 20.0 / static_cast<double>(20 + i)));
    if (k != 4) {
      outcome.predictions.push_back(
          {"analytical", std::log(seconds) + 0.3 * (UniformReal(rng) - 0.5), i % 16});
    }
    outcome.fate = i % 4 == 3 ? Fate::kProposed : i % 9 == 8 ? Fate::kReused : Fate::kMeasured;
    if (outcome.fate != Fate::kProposed) {
      if (i % 31 == 30) {
        outcome.measurement =
            Measurement::FromFailure(FailureKind::kOutOfMemory, "scoped vmem limit exceeded");
        if (report.kernels[k].failures.empty()) {
          report.kernels[k].failures.push_back(
              {FailureKind::kOutOfMemory, 0, "scoped vmem limit exceeded"});
        }
        ++report.kernels[k].failures[0].count;
      } else {
        outcome.measurement =
            Measurement::FromSamples({seconds, seconds * 1.02}, TimeSource::kHardware);
        best[k] = std::min(best[k], seconds);
        if (!report.kernels[k].best || seconds == best[k]) {
          report.kernels[k].best = ConfigResult{outcome.config, *outcome.measurement};
        }
      }
    }
    if (outcome.fate == Fate::kMeasured) {
      ++report.measurements;
      ++report.kernels[k].measurements;
      clock += 1;
    }
    outcome.device_seconds = clock;
    double now = 0;
    for (size_t j = 0; j < best.size(); ++j) {
      now += best[j] * static_cast<double>(report.kernels[j].count);
    }
    report.progress.push_back({report.measurements, 1e-3 * static_cast<double>(i), clock, now});
    report.candidates.push_back(std::move(outcome));
  }
  const double after = report.progress.empty() ? before : report.progress.back().program_seconds;
  report.totals = {{"default", before, 6},
                   {"best found", after, 6},
                   {"analytical", after * 1.012, 5},
                   {"best known", after * 0.997, 5}};
  for (KernelReport& kernel : report.kernels) {
    kernel.speedup_interval = KernelSpeedupInterval(kernel);
  }
  report.speedup_interval = ProgramSpeedupInterval(report.kernels);
  report.time = {0.02, 0.61, 0.4, 0.3, clock * 0.9, clock * 0.1};
  return report;
}

}  // namespace autotune

#endif  // AUTOTUNE_TESTS_TUNER_SAMPLE_REPORT_H_
