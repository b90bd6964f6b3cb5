#include "tuner/fusion_inspect.h"

#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "costmodel/fusion_examples.h"
#include "hardware/atomic_file.h"
#include "hardware/device_spec.h"
#include "hlo/fusion_group.h"
#include "hlo/fusion_inline.h"
#include "hlo/fusion_realised.h"
#include "search/fusion_groups.h"
#include "search/fusion_scorer.h"
#include "tuner/command_status.h"
#include "tuner/fusion_picture.h"
#include "tuner/fusion_prior.h"
#include "tuner/fusion_render.h"
#include "tuner/graphviz.h"
#include "tuner/printable.h"

namespace autotune {

absl::StatusOr<FusionRecording> LoadFusionsOf(const FusionGraph& graph, const std::string& path) {
  absl::StatusOr<FusionRecording> recording = FusionRecording::Load(path);
  if (!recording.ok()) return WithExitCode(kExitBadInput, recording.status());
  if (recording->origin().fingerprint != FusionFingerprint(graph)) {
    return BadInput(
        absl::StrCat(path, " records ", recording->origin().program, ", another program"));
  }
  return recording;
}

namespace {

// What is known of a program's groups, in the order in which it refers to each other.
struct Knowledge {
  std::unique_ptr<FusionScorer> analytical, learned, refitted;
  std::vector<FusionScorer::Group> realised;

  FusionEvidence Evidence(const FusionRecording* recording) const {
    if (refitted == nullptr) return {learned.get()};
    return {learned.get(), refitted.get(), recording, &realised};
  }
};

// The kernels of a compilation, without their parameters and constants.
std::vector<FusionScorer::Group> KernelsOf(const FusionGraph& graph,
                                           const FusionRecording& recording,
                                           const FusionEntry& entry) {
  std::vector<FusionGroup> groups = GroupsOf(graph, recording.GroupingOf(entry));
  std::vector<FusionScorer::Group> kernels;
  for (size_t k = 0; k < entry.kernels.size(); ++k) {
    const FusionRecordedKernel& kernel = recording.kernels()[static_cast<size_t>(entry.kernels[k])];
    std::vector<int32_t>& nodes = groups[k].nodes;
    std::erase_if(nodes,
                  [&graph](int32_t n) { return graph.nodes()[static_cast<size_t>(n)].free; });
    kernels.push_back({nodes.empty() ? -1 : nodes.back(), std::move(nodes),
                       kernel.once.schedule * static_cast<double>(kernel.executions)});
  }
  return kernels;
}

absl::StatusOr<Knowledge> Gather(const FusionGraph& graph, const FusionRecording* recorded,
                                 const DeviceSpec& device, const std::string& model) {
  const FusionEntry* base = recorded != nullptr ? recorded->Find({}) : nullptr;
  const bool realised = base != nullptr && !base->failure.has_value();
  // A program with barriers of its own shows its groups as they are.
  const FusionOutline outline =
      realised ? OutlineOf(graph, recorded->GroupingOf(*base)) : PredictOutline(graph);
  Knowledge knowledge;
  knowledge.analytical = std::make_unique<FusionScorer>(&graph, outline, device);
  if (!model.empty()) {
    absl::StatusOr<FusionPrior> prior = CreateFusionPrior(model, &graph, device);
    if (!prior.ok()) return prior.status();
    knowledge.learned = std::make_unique<FusionScorer>(&graph, outline, device, *std::move(prior));
  }
  if (!realised) return knowledge;
  std::vector<TimedKernel> kernels;
  for (FusionRecordedGroup& kernel : RecordedGroups(graph, *recorded)) {
    kernels.push_back({std::move(kernel.group), kernel.seconds});
  }
  knowledge.refitted = std::make_unique<FusionScorer>(&graph, outline, device);
  knowledge.refitted->Learn(kernels, base->total.schedule);
  knowledge.realised = KernelsOf(graph, *recorded, *base);
  return knowledge;
}

int WritePicture(const std::string& graph, const std::string& path, CommandContext& context) {
  absl::StatusOr<std::string> svg = DrawSvg(graph);
  if (!svg.ok()) return context.Fail(WithExitCode(kExitBroken, svg.status()));
  absl::Status written = WriteFileAtomically(path, *svg);
  if (!written.ok()) return context.Fail(WithExitCode(kExitBroken, written));
  context.err << "picture: " << PrintableLine(path) << "\n";
  return kExitDone;
}

}  // namespace

int RunFusionInspection(const Program& program, const FusionInspection& options,
                        CommandContext& context) {
  if (program.module == nullptr) {
    return context.Fail(kExitBadInput, "--fusion needs a program, not a recording of kernels");
  }
  absl::StatusOr<FusionGraph> graph = InlinedFusionGraph(*program.module);
  if (!graph.ok()) return context.Fail(WithExitCode(kExitBadInput, graph.status()));
  std::optional<FusionRecording> recorded;
  if (!options.recording.empty()) {
    absl::StatusOr<FusionRecording> loaded = LoadFusionsOf(*graph, options.recording);
    if (!loaded.ok()) return context.Fail(loaded.status());
    recorded = *std::move(loaded);
  }
  const std::string name = recorded.has_value()     ? recorded->origin().device
                           : options.target.empty() ? std::string(kAssumedTarget)
                                                    : options.target;
  absl::StatusOr<DeviceSpec> device = FindDeviceSpec(name);
  if (!device.ok()) return context.Fail(WithExitCode(kExitWrongUse, device.status()));
  if (recorded.has_value() && !options.target.empty()) {
    const absl::StatusOr<DeviceSpec> asked = FindDeviceSpec(options.target);
    if (!asked.ok() || asked->name != device->name) {
      return context.Fail(kExitWrongUse, absl::StrCat("the recording is of ", device->name,
                                                      ", not of --target ", options.target));
    }
  }
  const absl::StatusOr<Knowledge> known =
      Gather(*graph, recorded.has_value() ? &*recorded : nullptr, *device, options.model);
  if (!known.ok()) return context.Fail(known.status());
  const FusionEvidence evidence = known->Evidence(recorded.has_value() ? &*recorded : nullptr);
  if (options.dot || !options.svg.empty()) {
    const std::string dot =
        FusionGroupsDot(*graph, *known->analytical, {}, device->name, options.limit, evidence);
    if (!options.svg.empty()) return WritePicture(dot, options.svg, context);
    context.out << PrintableText(dot);
  } else {
    context.out << PrintableText(
        FusionGroupsText(*graph, *known->analytical, {}, device->name, options.limit, evidence));
  }
  return kExitDone;
}

}  // namespace autotune
