#include "tuner/fusion_inspect.h"

#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "costmodel/fusion_examples.h"
#include "hardware/device_spec.h"
#include "hlo/fusion_inline.h"
#include "hlo/fusion_realised.h"
#include "search/fusion_groups.h"
#include "search/fusion_scorer.h"
#include "tuner/command_status.h"
#include "tuner/fusion_render.h"
#include "tuner/printable.h"

namespace autotune {

absl::StatusOr<FusionRecording> LoadFusionsOf(const FusionGraph& graph, const std::string& path) {
  absl::StatusOr<FusionRecording> recording = FusionRecording::Load(path);
  if (!recording.ok()) return WithExitCode(kExitBadInput, recording.status());
  if (recording->origin().fingerprint != FusionFingerprint(graph)) {
    return WithExitCode(kExitBadInput,
                        absl::InvalidArgumentError(absl::StrCat(
                            path, " records ", recording->origin().program, ", another program")));
  }
  return recording;
}

int RunFusionInspection(const Program& program, const std::string& target,
                        const std::string& recording, int64_t limit, bool dot,
                        CommandContext& context) {
  if (program.module == nullptr) {
    return context.Fail(kExitBadInput, "--fusion needs a program, not a recording of kernels");
  }
  absl::StatusOr<FusionGraph> graph = InlinedFusionGraph(*program.module);
  if (!graph.ok()) return context.Fail(WithExitCode(kExitBadInput, graph.status()));
  std::optional<FusionRecording> recorded;
  if (!recording.empty()) {
    absl::StatusOr<FusionRecording> loaded = LoadFusionsOf(*graph, recording);
    if (!loaded.ok()) return context.Fail(loaded.status());
    recorded = *std::move(loaded);
  }
  const std::string name = recorded.has_value() ? recorded->origin().device
                           : target.empty()     ? std::string(kAssumedTarget)
                                                : target;
  absl::StatusOr<DeviceSpec> device = FindDeviceSpec(name);
  if (!device.ok()) return context.Fail(WithExitCode(kExitWrongUse, device.status()));
  const FusionEntry* base = recorded.has_value() ? recorded->Find({}) : nullptr;
  const bool realised = base != nullptr && !base->failure.has_value();
  // A program with barriers of its own shows its groups as they are.
  const FusionOutline outline =
      realised ? OutlineOf(*graph, recorded->GroupingOf(*base)) : PredictOutline(*graph);
  const FusionScorer scorer(&*graph, outline, *device);
  FusionScorer refitted(&*graph, outline, *device);
  FusionEvidence evidence;
  if (realised) {
    std::vector<TimedKernel> kernels;
    for (FusionRecordedGroup& kernel : RecordedGroups(*graph, *recorded)) {
      kernels.push_back({std::move(kernel.group), kernel.seconds});
    }
    refitted.Learn(kernels, base->total.schedule);
    evidence = {&refitted, &*recorded};
  }
  context.out << PrintableText(dot ? FusionGroupsDot(*graph, realised ? refitted : scorer, {})
                                   : FusionGroupsText(*graph, scorer, {}, limit, evidence));
  return kExitDone;
}

}  // namespace autotune
