#include "hardware/compiled_for.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/element_type.h"
#include "hlo/shape.h"

namespace autotune {
namespace {

// What the tiles of all scalars hold.
std::set<int64_t> FoundTileBytes(const HloModule& program) {
  std::set<int64_t> found;
  for (const HloComputation* computation : program.computations()) {
    for (const HloInstruction* instruction : computation->instructions()) {
      const Shape& shape = instruction->shape();
      if (!shape.IsScalar() || !shape.has_layout()) continue;
      const auto& tiles = shape.layout().tiles;
      if (tiles.size() != 1 || tiles[0].dimensions.size() != 1) continue;
      found.insert(tiles[0].dimensions[0] * BitWidth(shape.element_type()) / 8);
    }
  }
  return found;
}

}  // namespace

std::vector<std::string> CompiledForDevices(const HloModule& program) {
  const std::set<int64_t> found = FoundTileBytes(program);
  std::vector<std::string> devices;
  if (found.size() != 1) return devices;
  for (const DeviceSpec& device : AllDeviceSpecs()) {
    if (device.scalar_tile_bytes == *found.begin()) devices.push_back(device.name);
  }
  return devices;
}

absl::Status CheckCompiledFor(const HloModule& program, const DeviceSpec& device) {
  const std::vector<std::string> devices = CompiledForDevices(program);
  if (devices.empty() || absl::c_linear_search(devices, device.name)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "already optimised, for ", absl::StrJoin(devices, " or "), " and not for ", device.name,
      ": the tiles of its scalars hold ", *FoundTileBytes(program).begin(), " bytes"));
}

}  // namespace autotune
