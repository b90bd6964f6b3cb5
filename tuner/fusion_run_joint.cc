// The part of FusionRun that tunes tiles as well.

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "hardware/atomic_file.h"
#include "hlo/fusion_apply.h"
#include "hlo/printer.h"
#include "hlo/read_file.h"
#include "nlohmann/json.hpp"
#include "tuner/best_config.h"
#include "tuner/command_status.h"
#include "tuner/fusion_render.h"
#include "tuner/fusion_run.h"
#include "tuner/models.h"
#include "tuner/output_files.h"
#include "tuner/printable.h"
#include "tuner/run_tuning.h"
#include "tuner/stored_run.h"

namespace autotune {
namespace {

// Of a kernel, tiles whose times are predicted before the budget is split.
constexpr int64_t kTilesToPredict = 2000;

}  // namespace

absl::StatusOr<int> FusionRun::RunJoint() {
  const int64_t budget = options_.budget.value_or(kDefaultBudget);
  const int64_t probe = std::max<int64_t>(2, budget / 10);
  absl::StatusOr<FusionTuning> tuning = Tune(probe);
  if (!tuning.ok()) return tuning.status();
  absl::StatusOr<double> tile_gain = TileGain();
  if (!tile_gain.ok()) return tile_gain.status();
  // The model likes best what it errs about: no more is expected of fusion than it has shown.
  const double fusion_gain =
      std::min(tuning->predicted_gain, std::max(0.0, -tuning->comparison.change.schedule));
  const JointSplit split = SplitJointBudget(budget, probe, fusion_gain, *tile_gain);
  if (!tuning->stopped && split.fusion > probe) {
    tuning = Tune(split.fusion);
    if (!tuning.ok()) return tuning.status();
  }
  if (absl::Status status = Show(*tuning); !status.ok()) return status;
  if (tuning->stopped) return static_cast<int>(kExitInterrupted);
  // What fusion did not need goes to the tiles.
  const int code = TuneTiles(split.tiles + split.fusion - tuning->compilations);
  if (code != kExitDone) return code;
  absl::Status confirmed = Confirm(split, *tuning);
  if (!confirmed.ok()) return confirmed;
  return code;
}

// What the analytical model expects of other tiles in the default program.
absl::StatusOr<double> FusionRun::TileGain() {
  if (compiler_->last_program() == nullptr) {
    absl::StatusOr<std::variant<FusionCompilation, Failure>> compiled =
        compiler_->CompileWhole(*graph_, {});
    if (!compiled.ok()) return WithExitCode(kExitBroken, compiled.status());
  }
  const std::shared_ptr<const HloModule> program = compiler_->last_program();
  absl::StatusOr<std::shared_ptr<CostModel>> model =
      CreateModel("analytical", device_->name, TimeSource::kEstimate);
  if (!model.ok()) return model.status();
  return program == nullptr ? 0.0 : PredictedTileGain(*program, *device_, **model, kTilesToPredict);
}

// The tiles of the kernels of tuned.hlo: a run of its own in OUT/tiles.
int FusionRun::TuneTiles(int64_t budget) {
  TuneOptions options = options_;
  options.program = absl::StrCat(out_, "/tuned.hlo");
  options.out = absl::StrCat(out_, "/tiles");
  options.space = "tile";
  options.backend = "aot";
  options.budget = budget;
  if (!model_given_) options.model.clear();  // what is best for tiles on this device
  if (options.target.empty()) options.target = kAssumedTarget;
  return RunTuning(options, {"--space", "--backend", "--out", "--budget", "--target"}, context_);
}

absl::Status FusionRun::Confirm(const JointSplit& split, const FusionTuning& tuning) {
  // A run of tiles may end before its budget does.
  absl::StatusOr<TuningReport> tile_run = LoadStoredRun(absl::StrCat(out_, "/tiles"));
  if (!tile_run.ok()) return WithExitCode(kExitBroken, tile_run.status());
  const std::string tile_path = absl::StrCat(out_, "/tiles/best.json");
  absl::StatusOr<std::string> text = ReadWholeFile(tile_path);
  if (!text.ok()) return WithExitCode(kExitBroken, text.status());
  absl::StatusOr<BestConfig> tiles = BestConfig::Parse(*text, tile_path);
  if (!tiles.ok()) return WithExitCode(kExitBroken, tiles.status());
  const FusionDecision& cuts = tuning.Chosen().decision;
  absl::StatusOr<std::variant<FusionCompilation, Failure>> fused =
      compiler_->CompileWhole(*graph_, cuts);
  if (!fused.ok()) return WithExitCode(kExitBroken, fused.status());
  const FusionCompilation* compiled = std::get_if<FusionCompilation>(&*fused);
  absl::StatusOr<std::unique_ptr<HloModule>> program = ApplyFusion(*graph_, cuts);
  if (!program.ok()) return WithExitCode(kExitBroken, program.status());
  if (compiled == nullptr) {
    return WithExitCode(kExitBroken,
                        absl::InternalError("the chosen program does not compile a second time"));
  }
  absl::StatusOr<std::unique_ptr<AotBackend>> backend = AotBackend::Create(AotOptions());
  if (!backend.ok()) return WithExitCode(kExitBroken, backend.status());
  absl::StatusOr<JointResult> result = ConfirmJoint(
      *compiler_, **backend, **program, tuning.base.total, *compiled, *tiles, split.confirm - 1);
  if (!result.ok()) return WithExitCode(kExitBroken, result.status());
  ++result->compilations;
  return WriteJoint(split, tuning, *result, tile_run->measurements);
}

absl::Status FusionRun::WriteJoint(const JointSplit& split, const FusionTuning& tuning,
                                   const JointResult& result, int64_t tiles_spent) const {
  BestConfig best =
      FusionBestConfig(*graph_, tuning, options_.program, device_->name, compiler_->version());
  best.kernels.insert(best.kernels.end(), result.best.kernels.begin(), result.best.kernels.end());
  // What is unsettled is a candidate; the default stays chosen.
  const std::string name = result.unsettled ? "candidate" : "best";
  absl::Status status = WriteFileAtomically(absl::StrCat(out_, "/", name, ".json"),
                                            absl::StrCat(DumpJson(best.ToJson()), "\n"));
  status.Update(
      WriteFileAtomically(absl::StrCat(out_, "/", result.unsettled ? "candidate" : "tuned", ".hlo"),
                          PrintHlo(*result.program)));
  if (result.unsettled) {
    FusionTuning none = tuning;
    none.fastest = none.base;
    none.unsettled = false;
    status.Update(Write(none));
  }
  const int64_t fusion_spent = tuning.compilations;
  status.Update(WriteFileAtomically(
      absl::StrCat(out_, "/joint.json"),
      absl::StrCat(DumpJson(JointJson(split, result, fusion_spent, tiles_spent)), "\n")));
  if (!status.ok()) return WithExitCode(kExitBroken, status);
  context_.out << PrintableText(JointText(split, result, fusion_spent, tiles_spent)) << std::flush;
  return absl::OkStatus();
}

}  // namespace autotune
