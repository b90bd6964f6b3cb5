#include "tuner/fusion_joint.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hlo/kernel.h"
#include "nlohmann/json.hpp"
#include "tuner/apply_program.h"
#include "tuner/fusion_render.h"
#include "tuner/fusion_tuner.h"
#include "tuner/kernel_space.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

using nlohmann::json;

constexpr int64_t kConfirmations = 6;
constexpr double kLeastGain = 0.005;
constexpr double kMostFusion = 0.4;
// Estimates closer than this are equal.
constexpr double kEqual = 1e-3;

int SignOf(double change) { return change < -kEqual ? -1 : change > kEqual ? 1 : 0; }

// Whether the schedule with transfers and the bundles alone agree about a change.
bool Agree(const FusionTimes& times, const FusionTimes& base) {
  const FusionTimes change = CompareFusions(times, base).change;
  return SignOf(change.schedule) * SignOf(change.bundles) >= 0;
}

// Drops the tiles of kernels that one of the two estimates holds faster than with the compiler's
// tile and the other slower. Returns how many.
int64_t DropDisagreeing(const FusionCompilation& fused, const FusionCompilation& both,
                        BestConfig* tiles) {
  absl::flat_hash_map<uint64_t, FusionTimes> own, chosen;
  for (const FusionKernel& kernel : fused.kernels) own[kernel.fingerprint] = kernel.once;
  for (const FusionKernel& kernel : both.kernels) chosen[kernel.fingerprint] = kernel.once;
  int64_t dropped = 0;
  for (BestConfig::KernelEntry& entry : tiles->kernels) {
    const auto before = own.find(entry.fingerprint);
    const auto after = chosen.find(entry.fingerprint);
    if (before == own.end() || after == chosen.end() || entry.config == entry.default_config ||
        Agree(after->second, before->second)) {
      continue;
    }
    entry.config = entry.default_config;
    entry.seconds = entry.default_seconds;
    ++dropped;
  }
  return dropped;
}

// The kernel's predicted share that its best tile saves, of up to `limit` of them.
std::optional<std::pair<double, double>> PredictBest(const Kernel& kernel, const DeviceSpec& device,
                                                     const CostModel& model, int64_t limit) {
  if (!kernel.compiler_choice.has_value()) return std::nullopt;
  const KernelSpace space = SpaceFromGeometry(kernel, device);
  if (space.space == nullptr) return std::nullopt;
  std::vector<Config> configs = {Config(kernel.compiler_choice->bounds)};
  for (Config& config : space.space->Enumerate(limit)) configs.push_back(std::move(config));
  const absl::StatusOr<std::vector<double>> scores = model.Predict(kernel, configs);
  if (!scores.ok() || !std::isfinite(scores->front())) return std::nullopt;
  const double own = std::exp(scores->front());
  return std::make_pair(own, std::exp(*std::min_element(scores->begin(), scores->end())));
}

}  // namespace

JointSplit SplitJointBudget(int64_t budget, int64_t spent, double fusion_gain, double tile_gain) {
  JointSplit split{0, 0, 0, fusion_gain, tile_gain};
  split.confirm = std::min(kConfirmations, budget / 4);
  const int64_t rest = std::max<int64_t>(0, budget - split.confirm);
  const double fusion = std::max(fusion_gain, kLeastGain);
  const double share = fusion / (fusion + std::max(tile_gain, kLeastGain));
  const auto most = static_cast<int64_t>(kMostFusion * static_cast<double>(rest));
  const int64_t wanted = std::llround(share * static_cast<double>(rest));
  split.fusion = std::clamp(wanted, std::min(spent, rest), std::max(most, std::min(spent, rest)));
  split.tiles = rest - split.fusion;
  return split;
}

double PredictedTileGain(const HloModule& optimized, const DeviceSpec& device,
                         const CostModel& model, int64_t limit) {
  const absl::StatusOr<std::vector<Kernel>> kernels = ExtractKernels(optimized);
  if (!kernels.ok() || model.unit() != PredictionUnit::kLogSeconds) return 0;
  double own = 0, best = 0;
  for (const Kernel& kernel : *kernels) {
    const auto seconds = PredictBest(kernel, device, model, limit);
    if (!seconds.has_value()) continue;
    own += seconds->first * static_cast<double>(kernel.count);
    best += seconds->second * static_cast<double>(kernel.count);
  }
  return own > 0 ? 1 - best / own : 0;
}

absl::StatusOr<JointResult> ConfirmJoint(FusionCompiler& compiler, AotBackend& backend,
                                         const HloModule& program, const FusionTimes& base,
                                         const FusionCompilation& fused, const BestConfig& tiles,
                                         int64_t compilations) {
  JointResult result;
  result.base = base;
  result.fused = fused.total;
  result.best = tiles;
  for (;;) {
    absl::StatusOr<AppliedProgram> applied = ApplyBest(program, result.best, &backend);
    if (!applied.ok()) return applied.status();
    absl::StatusOr<std::variant<FusionCompilation, Failure>> compiled =
        compiler.CompileProgram(*applied->program);
    if (!compiled.ok()) return compiled.status();
    if (const Failure* failure = std::get_if<Failure>(&*compiled)) {
      return absl::FailedPreconditionError(
          absl::StrCat("the program with cuts and tiles does not compile: ", failure->message));
    }
    const FusionCompilation& both = std::get<FusionCompilation>(*compiled);
    result.compilations += applied->compilations + 1;
    result.tiles = applied->Count(ApplyOutcome::kApplied);
    result.not_applied = applied->Count(ApplyOutcome::kNotApplied);
    result.both = both.total;
    result.program = applied->program;
    result.unsettled = !Agree(both.total, base);
    if (!result.unsettled || result.compilations >= compilations) return result;
    const int64_t dropped = DropDisagreeing(fused, both, &result.best);
    if (dropped == 0) return result;
    result.dropped += dropped;
  }
}

std::string JointText(const JointSplit& split, const JointResult& result, int64_t fusion_spent,
                      int64_t tiles_spent) {
  std::string text = absl::StrFormat(
      "\nBudget: %d candidates for fusion (predicted gain %.1f %%), %d for tiles (%.1f %%), %d for "
      "confirming.\n\n",
      fusion_spent, split.fusion_gain * 100, tiles_spent, split.tile_gain * 100,
      result.compilations);
  TextTable table;
  table.Column("", TextTable::Align::kLeft).Column("schedule").Column("bundles alone");
  const auto row = [&](const char* name, const FusionTimes& times) {
    table.Row({name, FormatSeconds(times.schedule), FormatSeconds(times.bundles)});
  };
  row("default", result.base);
  row("fusion", result.fused);
  row("fusion and tiles", result.both);
  const FusionTimes change = CompareFusions(result.both, result.base).change;
  table.Row({"change", FormatChange(change.schedule), FormatChange(change.bundles)});
  text += table.ToString();
  absl::StrAppend(&text, "\n", result.tiles, " tiles applied, ", result.not_applied,
                  " that the compiler does not keep in the program, ", result.dropped,
                  " dropped because the estimates disagreed about them",
                  result.dropped > 0 ? " (tiles/best.json holds them)" : "", ".\n");
  if (result.unsettled) {
    text +=
        "UNSETTLED: with transfers and without, the static schedule disagrees about the whole, so "
        "the default\nstays chosen; candidate.json and candidate.hlo are what to measure on "
        "hardware.\n";
  } else {
    text += "Confirmed by compiling the whole program; both estimates have one sign.\n";
  }
  return text;
}

json JointJson(const JointSplit& split, const JointResult& result, int64_t fusion_spent,
               int64_t tiles_spent) {
  const auto times = [](const FusionTimes& t) {
    return json{{"schedule", t.schedule}, {"bundles", t.bundles}};
  };
  return {
      {"schema", "autotune.joint/1"},
      {"time_source", "estimate"},
      {"budget",
       {{"fusion", fusion_spent}, {"tiles", tiles_spent}, {"confirmations", result.compilations}}},
      {"predicted_gain", {{"fusion", split.fusion_gain}, {"tiles", split.tile_gain}}},
      {"default", times(result.base)},
      {"fusion", times(result.fused)},
      {"both", times(result.both)},
      {"change", times(CompareFusions(result.both, result.base).change)},
      {"tiles", result.tiles},
      {"not_applied", result.not_applied},
      {"dropped", result.dropped},
      {"unsettled", result.unsettled}};
}

}  // namespace autotune
