#include "hardware/aot_program.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hardware/elided_constants.h"
#include "hardware/vmem_staging.h"
#include "hlo/kernel.h"
#include "hlo/kernel_choice.h"
#include "hlo/opcode.h"
#include "nlohmann/json.hpp"

namespace autotune {
namespace {

using nlohmann::json;

// Protobuf's JSON form writes 64-bit integers as strings.
json BoundsToJson(const WindowBounds& bounds) {
  json result = json::array();
  for (int64_t bound : bounds) result.push_back(absl::StrCat(bound));
  return result;
}

// The arrays of a shape, in order.
void AppendLeaves(const Shape& shape, std::vector<const Shape*>* leaves) {
  if (shape.IsTuple()) {
    for (const Shape& element : shape.tuple_shapes()) AppendLeaves(element, leaves);
  } else {
    leaves->push_back(&shape);
  }
}

// What the frontend attributes `*_layout_modes` and `*_memory_spaces` say of some shapes.
struct LayoutModes {
  explicit LayoutModes(const std::vector<const Shape*>& shapes) {
    for (const Shape* shape : shapes) {
      Layout layout = shape->has_layout() ? shape->layout() : Layout::Default(shape->rank());
      spaces.push_back(absl::StrCat(layout.memory_space));
      layout.memory_space = 0;
      modes.push_back(shape->has_layout() && shape->rank() > 0 ? layout.ToString() : "default");
    }
  }

  std::vector<std::string> modes;
  std::vector<std::string> spaces;
};

// A schedule orders every computation that is not the body of a fusion.
void Schedule(proto::HloModuleProto* program) {
  if (program->has_schedule()) return;
  absl::flat_hash_set<int64_t> fused;
  for (const proto::HloComputationProto& computation : program->computations()) {
    for (const auto& instruction : computation.instructions()) {
      if (instruction.opcode() != HloOpcodeName(HloOpcode::kFusion)) continue;
      fused.insert(instruction.called_computation_ids().begin(),
                   instruction.called_computation_ids().end());
    }
  }
  for (const proto::HloComputationProto& computation : program->computations()) {
    if (fused.contains(computation.id())) continue;
    auto& sequence = (*program->mutable_schedule()->mutable_sequences())[computation.id()];
    for (const auto& instruction : computation.instructions()) {
      sequence.add_instruction_ids(instruction.id());
    }
  }
}

proto::HloInstructionProto* EntryRoot(proto::HloModuleProto* program) {
  proto::HloComputationProto* entry = EntryComputation(program);
  if (entry == nullptr) return nullptr;
  for (proto::HloInstructionProto& instruction : *entry->mutable_instructions()) {
    if (instruction.id() == entry->root_id()) return &instruction;
  }
  return nullptr;
}

// The fingerprint that the kernel has once scalars in a memory of their own (S(6)) are counted as
// lying in HBM: the compiler places scalar parameters itself, whatever it is asked for.
uint64_t FingerprintWithPlainScalars(const HloModule& module) {
  proto::HloModuleProto plain = module.ToProto();
  for (auto& computation : *plain.mutable_computations()) {
    for (auto& instruction : *computation.mutable_instructions()) {
      proto::ShapeProto& shape = *instruction.mutable_shape();
      if (shape.dimensions_size() == 0) shape.mutable_layout()->set_memory_space(0);
    }
  }
  const absl::StatusOr<std::unique_ptr<HloModule>> rebuilt = HloModule::FromProto(plain);
  return rebuilt.ok() ? KernelFingerprint(**rebuilt) : 0;
}

// By logical dimension, how many elements one tile of the layout holds: 1 where it is not tiled.
std::vector<int64_t> TilePerDimension(const Shape& shape) {
  std::vector<int64_t> tile(shape.dimensions().size(), 1);
  const Layout& layout = shape.layout();
  if (layout.tiles.empty()) return tile;
  const auto& extents = layout.tiles.front().dimensions;  // of the minor dimensions, major to minor
  for (size_t i = 0; i < extents.size() && i < tile.size(); ++i) {
    const auto dimension = static_cast<size_t>(layout.minor_to_major[i]);
    tile[dimension] = std::max<int64_t>(1, extents[extents.size() - 1 - i]);
  }
  return tile;
}

absl::Status NotFaithful(absl::string_view what) { return absl::FailedPreconditionError(what); }

// The instruction of `compiled` that is the kernel: its root, or the only one between the copies
// that stage operands in VMEM.
absl::StatusOr<const HloInstruction*> FindKernel(const Kernel& kernel, const HloModule& compiled) {
  const HloComputation& entry = compiled.entry_computation();
  std::optional<uint64_t> plain;  // of the kernel, once it is needed
  const auto same = [&](uint64_t fingerprint, const HloModule& module) {
    if (fingerprint == kernel.fingerprint) return true;
    if (!plain.has_value()) plain = FingerprintWithPlainScalars(*kernel.module);
    return FingerprintWithPlainScalars(module) == *plain;
  };
  if (same(KernelFingerprint(compiled), compiled)) return &entry.root();
  absl::StatusOr<std::vector<Kernel>> found = ExtractKernels(compiled);
  if (!found.ok()) return found.status();
  std::erase_if(*found, [&](const Kernel& candidate) {
    return absl::StartsWith(candidate.name, kStagingPrefix) ||
           !same(candidate.fingerprint, *candidate.module);
  });
  if (found->size() == 1 && found->front().count == 1) {
    return compiled.FindInstruction(found->front().name);
  }
  return NotFaithful(
      absl::StrCat("the compiler made another kernel of it: ", entry.root().opcode_name(),
                   " in a computation of ", entry.instructions().size(), " instructions"));
}

}  // namespace

WindowBounds CopyInputBounds(const Shape& operand, const Shape& result,
                             const WindowBounds& output) {
  const size_t rank = result.dimensions().size();
  if (output.size() != rank || operand.dimensions().size() != rank) return {};
  const std::vector<int64_t> result_tile = TilePerDimension(result);
  const std::vector<int64_t> operand_tile = TilePerDimension(operand);
  std::vector<int64_t> elements(rank);
  const auto& result_order = result.layout().minor_to_major;
  for (size_t i = 0; i < rank; ++i) {
    const auto dimension = static_cast<size_t>(result_order[rank - 1 - i]);
    elements[dimension] =
        std::min(output[i] * result_tile[dimension], result.dimensions()[dimension]);
  }
  WindowBounds input;
  const auto& operand_order = operand.layout().minor_to_major;
  for (size_t i = 0; i < rank; ++i) {
    const auto dimension = static_cast<size_t>(operand_order[rank - 1 - i]);
    const int64_t tile = operand_tile[dimension];
    input.push_back((elements[dimension] + tile - 1) / tile);
  }
  return input;
}

WindowBounds InputBoundsFor(const HloInstruction& kernel, const TileBounds& bounds) {
  if (kernel.opcode() != HloOpcode::kCopy || kernel.operands().size() != 1) return {};
  const Shape& operand = kernel.operand(0).shape();
  if (!operand.has_layout() || !kernel.shape().has_layout()) return {};
  const std::optional<CompilerChoice> own = ParseCompilerChoice(kernel.backend_config());
  if (!own.has_value() || own->bounds.input.empty()) return {};
  return CopyInputBounds(operand, kernel.shape(), bounds.output);
}

std::string WithWindowConfig(absl::string_view original, const TileBounds& bounds,
                             const WindowBounds& input) {
  json config = json::object();
  const json old =
      json::parse(original.begin(), original.end(), nullptr, /*allow_exceptions=*/false);
  if (old.is_object()) {
    for (const char* kept : {"flag_configs", "convolution_algorithm_config"}) {
      if (const auto member = old.find(kept); member != old.end()) config[kept] = *member;
    }
  }
  config["window_config"] = {{"kernel_window_bounds", BoundsToJson(bounds.kernel)},
                             {"output_window_bounds", BoundsToJson(bounds.output)}};
  if (!input.empty()) config["window_config"]["input_window_bounds"] = BoundsToJson(input);
  return config.dump();
}

void PinEntryLayouts(proto::HloModuleProto* program) {
  const proto::HloComputationProto* entry = EntryComputation(*program);
  if (entry == nullptr) return;
  std::vector<Shape> parameters;
  Shape result;
  for (const proto::HloInstructionProto& instruction : entry->instructions()) {
    absl::StatusOr<Shape> shape = Shape::FromProto(instruction.shape());
    if (!shape.ok()) return;  // the compiler says what is wrong with it
    if (instruction.id() == entry->root_id()) result = *shape;
    if (instruction.opcode() != HloOpcodeName(HloOpcode::kParameter)) continue;
    const auto number = static_cast<size_t>(instruction.parameter_number());
    parameters.resize(std::max(parameters.size(), number + 1));
    parameters[number] = *std::move(shape);
  }
  std::vector<const Shape*> parameter_leaves;
  for (const Shape& shape : parameters) AppendLeaves(shape, &parameter_leaves);
  std::vector<const Shape*> result_leaves;
  AppendLeaves(result, &result_leaves);
  auto& attributes = *program->mutable_frontend_attributes()->mutable_map();
  const LayoutModes in(parameter_leaves);
  const LayoutModes out(result_leaves);
  attributes["arg_layout_modes"] = absl::StrJoin(in.modes, ";");
  attributes["arg_memory_spaces"] = absl::StrJoin(in.spaces, ";");
  attributes["out_layout_modes"] = absl::StrJoin(out.modes, ";");
  attributes["out_memory_spaces"] = absl::StrJoin(out.spaces, ";");
}

proto::HloModuleProto KernelProgram(const Kernel& kernel, const TileBounds* bounds) {
  proto::HloModuleProto program = kernel.module->ToProto();
  FillElidedConstants(&program, /*seed=*/0);
  if (proto::HloInstructionProto* root = EntryRoot(&program); root != nullptr) {
    if (bounds == nullptr) {
      root->clear_backend_config();
    } else {
      const WindowBounds input = InputBoundsFor(kernel.module->entry_computation().root(), *bounds);
      root->set_backend_config(WithWindowConfig(root->backend_config(), *bounds, input));
    }
  }
  StageVmemOperands(&program);
  Schedule(&program);
  PinEntryLayouts(&program);
  return program;
}

absl::StatusOr<std::optional<CompilerChoice>> CheckFaithful(const Kernel& kernel,
                                                            const TileBounds* bounds,
                                                            const HloModule& compiled) {
  const absl::StatusOr<const HloInstruction*> instruction = FindKernel(kernel, compiled);
  if (!instruction.ok()) return instruction.status();
  std::optional<CompilerChoice> choice = ParseCompilerChoice((*instruction)->backend_config());
  if (bounds == nullptr) return choice;
  if (!choice.has_value()) return NotFaithful("the compiled kernel has no window");
  if (choice->bounds == *bounds) return choice;
  return NotFaithful(absl::StrCat("the compiler used the bounds ", choice->bounds.Key(),
                                  " instead of ", bounds->Key()));
}

}  // namespace autotune
