#include "tuner/kernel_space.h"

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "hlo/tile_geometry.h"
#include "search/kernel_tile_space.h"
#include "search/recorded_space.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

std::string Describe(const RecordedKernel& recorded) {
  const std::string count = FormatCount(static_cast<int64_t>(recorded.configs().size()));
  const Config& first = recorded.configs().front().config;
  if (recorded.HasOpaqueConfigs()) {
    return absl::StrCat(count, " recorded configurations (opaque)");
  }
  const char* what = first.layout() != nullptr ? "layouts" : "tiles";
  return absl::StrCat(count, " recorded ", what);
}

}  // namespace

KernelSpace SpaceFromRecording(const Kernel& kernel, const Recording& recording) {
  KernelSpace result;
  const RecordedKernel* recorded = recording.Find(kernel.fingerprint);
  if (recorded == nullptr || recorded->configs().empty()) {
    result.not_tuned = "not in the recording";
    return result;
  }
  std::vector<Config> configs;
  configs.reserve(recorded->configs().size());
  for (const RecordedConfig& config : recorded->configs()) configs.push_back(config.config);
  result.description = Describe(*recorded);
  result.opaque = recorded->HasOpaqueConfigs();
  result.space = std::make_unique<RecordedSpace>(std::move(configs));
  if (const RecordedConfig* config = recorded->Default()) {
    result.compiler_default = config->config;
  } else if (kernel.compiler_choice && !kernel.compiler_choice->bounds.IsEmpty()) {
    // A default that is not recorded would spend a measurement on the answer "not recorded".
    Config choice(kernel.compiler_choice->bounds);
    if (recorded->Find(choice.Key()) != nullptr) result.compiler_default = std::move(choice);
  }
  return result;
}

KernelSpace SpaceFromGeometry(const Kernel& kernel, const DeviceSpec& device) {
  KernelSpace result;
  if (kernel.compiler_choice && !kernel.compiler_choice->bounds.IsEmpty()) {
    result.compiler_default = Config(kernel.compiler_choice->bounds);
  }
  absl::StatusOr<TileGeometry> geometry = TileGeometry::Create(*kernel.module);
  if (!geometry.ok()) {
    result.not_tuned = std::string(geometry.status().message());
    return result;
  }
  absl::StatusOr<std::unique_ptr<TileSpace>> space = CreateKernelTileSpace(*geometry, device);
  if (!space.ok()) {
    result.not_tuned = std::string(space.status().message());
    return result;
  }
  const std::optional<int64_t> size = (*space)->Size();
  if (size == 0) {
    result.not_tuned = "no tile fits in VMEM";
    return result;
  }
  result.description =
      size ? absl::StrCat(FormatCount(*size), *size == 1 ? " legal tile" : " legal tiles")
           : absl::StrCat("up to ", FormatCount((*space)->combinations()), " legal tiles");
  result.space = *std::move(space);
  return result;
}

}  // namespace autotune
