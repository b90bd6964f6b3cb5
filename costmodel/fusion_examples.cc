#include "costmodel/fusion_examples.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "costmodel/fusion_features.h"
#include "hardware/device_spec.h"
#include "hlo/fingerprint.h"
#include "hlo/fusion_inline.h"
#include "hlo/read_module.h"

namespace autotune {
namespace {

constexpr char kSuffix[] = ".jsonl.gz";

KernelExample MakeExample(const FusionFeaturizer& featurizer, const FusionRecordedGroup& recorded,
                          const std::string& program, const std::string& device) {
  KernelExample example;
  example.program = program;
  example.kernel = absl::StrCat("group.", recorded.group.nodes.back());
  example.fingerprint = recorded.fingerprint;
  example.device = device;
  example.count = recorded.executions;
  example.graph = featurizer.GraphOf(recorded.group);
  example.config_features = {0};
  example.base = {static_cast<float>(std::log(featurizer.RooflineSeconds(recorded.group)))};
  example.target = {static_cast<float>(std::log(recorded.seconds))};
  example.default_config = 0;
  return example;
}

}  // namespace

std::vector<FusionRecordedGroup> RecordedGroups(const FusionGraph& graph,
                                                const FusionRecording& recording) {
  std::vector<std::optional<FusionRecordedGroup>> by_kernel(recording.kernels().size());
  for (size_t i = 0; i < recording.entries().size(); ++i) {
    const FusionEntry& entry = recording.entries()[i];
    if (entry.failure.has_value()) continue;
    const bool is_new = std::any_of(entry.kernels.begin(), entry.kernels.end(), [&](int32_t k) {
      return !by_kernel[static_cast<size_t>(k)].has_value();
    });
    if (!is_new) continue;
    std::vector<FusionGroup> groups = GroupsOf(graph, recording.GroupingOf(entry));
    for (size_t k = 0; k < entry.kernels.size(); ++k) {
      const auto index = static_cast<size_t>(entry.kernels[k]);
      if (by_kernel[index].has_value()) continue;
      const FusionRecordedKernel& kernel = recording.kernels()[index];
      by_kernel[index] =
          FusionRecordedGroup{std::move(groups[k]), kernel.fingerprint, kernel.executions,
                              kernel.once.schedule, static_cast<int64_t>(i)};
    }
  }
  std::vector<FusionRecordedGroup> result;
  for (std::optional<FusionRecordedGroup>& found : by_kernel) {
    if (!found.has_value() || found->group.nodes.empty() || found->seconds <= 0) continue;
    result.push_back(*std::move(found));
  }
  return result;
}

std::vector<FusionPair> FusionPairsOf(const std::string& folder) {
  std::vector<FusionPair> pairs;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string path = entry.path().string();
    if (!absl::EndsWith(path, kSuffix)) continue;
    std::string program = absl::StrCat(absl::StripSuffix(path, kSuffix), ".hlo");
    if (std::filesystem::exists(program, error)) pairs.push_back({std::move(program), path});
  }
  std::sort(pairs.begin(), pairs.end(),
            [](const FusionPair& a, const FusionPair& b) { return a.program < b.program; });
  return pairs;
}

absl::StatusOr<FusionData> ReadFusionPair(const FusionPair& pair) {
  absl::StatusOr<ReadModuleResult> read = ReadModuleFile(pair.program);
  if (!read.ok()) return read.status();
  absl::StatusOr<FusionGraph> graph = InlinedFusionGraph(*read->module);
  if (!graph.ok()) return graph.status();
  absl::StatusOr<FusionRecording> recording = FusionRecording::Load(pair.recording);
  if (!recording.ok()) return recording.status();
  if (recording->origin().fingerprint != FusionFingerprint(*graph)) {
    return absl::InvalidArgumentError(
        absl::StrCat(pair.recording, " is of another program than ", pair.program));
  }
  return FusionData{*std::move(graph), *std::move(recording)};
}

absl::StatusOr<RecordedData> ReadFusionData(absl::Span<const FusionPair> pairs,
                                            const ProgramSplit& split, ExampleStore* training,
                                            ExampleStore* validation, ExampleStore* test) {
  RecordedData data;
  data.split = split;
  std::set<std::pair<std::string, uint64_t>> taken;  // device, kernel
  Fingerprinter fingerprint;
  const std::pair<Side, ExampleStore*> sides[] = {
      {Side::kTest, test}, {Side::kValidation, validation}, {Side::kTraining, training}};
  for (const auto& [side, store] : sides) {
    for (const FusionPair& pair : pairs) {
      const std::string program = ProgramOfFile(pair.recording);
      if (data.split.try_emplace(program, Side::kTraining).first->second != side) continue;
      absl::StatusOr<FusionData> read = ReadFusionPair(pair);
      if (!read.ok()) return read.status();
      const std::string& name = read->recording.origin().device;
      absl::StatusOr<DeviceSpec> device = FindDeviceSpec(name);
      if (!device.ok()) return device.status();
      data.constants.try_emplace(device->name);
      const FusionFeaturizer featurizer(&read->graph, *device);
      for (const FusionRecordedGroup& recorded : RecordedGroups(read->graph, read->recording)) {
        if (recorded.fingerprint != 0 &&
            !taken.insert({device->name, recorded.fingerprint}).second) {
          ++data.duplicates;
          continue;
        }
        const KernelExample example = MakeExample(featurizer, recorded, program, device->name);
        if (side != Side::kTest) {
          fingerprint.AddInt(recorded.fingerprint)
              .AddInt(static_cast<uint64_t>(std::llround(1e12 * recorded.seconds)));
        }
        if (store == nullptr) continue;
        if (absl::Status status = store->Add(example); !status.ok()) return status;
      }
    }
  }
  data.fingerprint = fingerprint.Get();
  return data;
}

}  // namespace autotune
