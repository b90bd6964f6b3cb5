#include "hardware/aot_program.h"

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hardware/elided_constants.h"
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
  for (auto& computation : *program->mutable_computations()) {
    if (computation.id() != program->entry_computation_id()) continue;
    for (auto& instruction : *computation.mutable_instructions()) {
      if (instruction.id() == computation.root_id()) return &instruction;
    }
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

absl::Status NotFaithful(absl::string_view what) { return absl::FailedPreconditionError(what); }

}  // namespace

std::string WithWindowConfig(absl::string_view original, const TileBounds& bounds) {
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
  return config.dump();
}

const HloInstruction& KernelInstruction(const HloModule& kernel_module) {
  return kernel_module.entry_computation().root();
}

void PinEntryLayouts(const HloModule& module, proto::HloModuleProto* program) {
  std::vector<const Shape*> parameters;
  for (const HloInstruction* parameter : module.entry_computation().parameters()) {
    AppendLeaves(parameter->shape(), &parameters);
  }
  std::vector<const Shape*> results;
  AppendLeaves(module.entry_computation().root().shape(), &results);
  auto& attributes = *program->mutable_frontend_attributes()->mutable_map();
  const LayoutModes in(parameters);
  const LayoutModes out(results);
  attributes["arg_layout_modes"] = absl::StrJoin(in.modes, ";");
  attributes["arg_memory_spaces"] = absl::StrJoin(in.spaces, ";");
  attributes["out_layout_modes"] = absl::StrJoin(out.modes, ";");
  attributes["out_memory_spaces"] = absl::StrJoin(out.spaces, ";");
}

proto::HloModuleProto KernelProgram(const Kernel& kernel, const TileBounds* bounds) {
  proto::HloModuleProto program = kernel.module->ToProto();
  Schedule(&program);
  FillElidedConstants(&program, /*seed=*/0);
  PinEntryLayouts(*kernel.module, &program);
  proto::HloInstructionProto* root = EntryRoot(&program);
  if (root == nullptr) return program;
  if (bounds == nullptr) {
    root->clear_backend_config();
  } else {
    root->set_backend_config(WithWindowConfig(root->backend_config(), *bounds));
  }
  return program;
}

absl::Status CheckFaithful(const Kernel& kernel, const TileBounds* bounds,
                           const HloModule& compiled) {
  const uint64_t fingerprint = KernelFingerprint(compiled);
  if (fingerprint != kernel.fingerprint &&
      FingerprintWithPlainScalars(compiled) != FingerprintWithPlainScalars(*kernel.module)) {
    const HloComputation& entry = compiled.entry_computation();
    return NotFaithful(
        absl::StrCat("the compiler made another kernel of it: ", entry.root().opcode_name(),
                     " in a computation of ", entry.instructions().size(), " instructions"));
  }
  if (bounds == nullptr) return absl::OkStatus();
  const auto choice = ParseCompilerChoice(KernelInstruction(compiled).backend_config());
  if (!choice.has_value()) return NotFaithful("the compiled kernel has no window");
  if (choice->bounds == *bounds) return absl::OkStatus();
  return NotFaithful(absl::StrCat("the compiler used the bounds ", choice->bounds.Key(),
                                  " instead of ", bounds->Key()));
}

}  // namespace autotune
