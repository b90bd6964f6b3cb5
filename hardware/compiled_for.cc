#include "hardware/compiled_for.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/element_type.h"
#include "hlo/shape.h"

namespace autotune {
namespace {

// What the tile of a scalar holds. libtpu 0.0.52 refuses any other, for each of its generations:
// "layout does not match any allowed tile kind, shape: f32[]{:T(128)}, expected shape:
// f32[]{:T(256)}". AlexNet as TpuGraphs' compiler left it, and 36 programs for v3 and v5e, agree.
int64_t ScalarTileBytes(const DeviceSpec& device) {
  return device.name == "tpu-v2" || device.name == "tpu-v3" ? 1024 : 512;
}

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

absl::Status CheckCompiledFor(const HloModule& program, const DeviceSpec& device) {
  const std::set<int64_t> found = FoundTileBytes(program);
  // Where they differ among each other nothing is known.
  if (found.size() != 1 || *found.begin() == ScalarTileBytes(device)) return absl::OkStatus();
  std::vector<std::string> others;
  for (const DeviceSpec& other : AllDeviceSpecs()) {
    if (ScalarTileBytes(other) == *found.begin()) others.push_back(other.name);
  }
  if (others.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "this program is already optimised, for ", absl::StrJoin(others, " or "), " and not for ",
      device.name, ": the tiles of its scalars hold ", *found.begin(), " bytes"));
}

}  // namespace autotune
