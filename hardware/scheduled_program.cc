#include "hardware/scheduled_program.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "hardware/aot_program.h"
#include "hlo/kernel_choice.h"
#include "hlo/kernel_hash.h"
#include "hlo/opcode.h"
#include "hlo/shape.h"

namespace autotune {
namespace {

bool IsPlaced(const Shape& shape) {
  if (shape.IsTuple()) {
    return std::any_of(shape.tuple_shapes().begin(), shape.tuple_shapes().end(), IsPlaced);
  }
  return shape.rank() > 0 && shape.has_layout() && shape.layout().memory_space != 0;
}

// The `backend_config` of every instruction whose tile changes, by its name.
absl::flat_hash_map<absl::string_view, std::string> NewConfigs(
    const HloModule& optimized, const absl::flat_hash_map<uint64_t, TileBounds>& tiles) {
  absl::flat_hash_map<absl::string_view, std::string> configs;
  const KernelHasher hasher(optimized);
  for (const HloComputation* computation : optimized.computations()) {
    if (computation->IsFusionComputation()) continue;
    for (const HloInstruction* instruction : computation->instructions()) {
      const std::optional<CompilerChoice> own = ParseCompilerChoice(instruction->backend_config());
      if (!own.has_value()) continue;
      const auto tile = tiles.find(hasher.Operation(*instruction));
      if (tile == tiles.end() || tile->second == own->bounds) continue;
      configs[instruction->name()] = WithWindowConfig(instruction->backend_config(), tile->second,
                                                      InputBoundsFor(*instruction, tile->second));
    }
  }
  return configs;
}

}  // namespace

bool HoldsPlacedArrays(const HloModule& optimized) {
  for (const HloComputation* computation : optimized.computations()) {
    for (const HloInstruction* instruction : computation->instructions()) {
      if (IsPlaced(instruction->shape())) return true;
    }
  }
  return false;
}

bool TakesTiles(const HloModule& optimized) {
  return optimized.is_scheduled() && !HoldsPlacedArrays(optimized);
}

absl::StatusOr<std::unique_ptr<HloModule>> WithTiles(
    const HloModule& optimized, const absl::flat_hash_map<uint64_t, TileBounds>& tiles) {
  const absl::flat_hash_map<absl::string_view, std::string> configs = NewConfigs(optimized, tiles);
  proto::HloModuleProto program = optimized.ToProto();
  for (proto::HloComputationProto& computation : *program.mutable_computations()) {
    for (proto::HloInstructionProto& instruction : *computation.mutable_instructions()) {
      const auto config = configs.find(instruction.name());
      if (config != configs.end()) instruction.set_backend_config(config->second);
    }
  }
  PinEntryLayouts(&program);
  return HloModule::FromProto(program);
}

}  // namespace autotune
