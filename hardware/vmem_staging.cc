#include "hardware/vmem_staging.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "hlo/next_free_id.h"
#include "hlo/opcode.h"

namespace autotune {
namespace {

constexpr int64_t kVmem = 1;

bool InVmem(const proto::ShapeProto& shape) {
  return shape.tuple_shapes_size() == 0 && shape.layout().memory_space() == kVmem;
}

bool AnyInVmem(const proto::ShapeProto& shape) {
  return InVmem(shape) || std::any_of(shape.tuple_shapes().begin(), shape.tuple_shapes().end(),
                                      [](const auto& element) { return AnyInVmem(element); });
}

bool Is(const proto::HloInstructionProto& instruction, HloOpcode opcode) {
  return instruction.opcode() == HloOpcodeName(opcode);
}

// Rewrites one entry computation, instruction by instruction in order.
class Stager {
 public:
  Stager(proto::HloModuleProto* program, proto::HloComputationProto* entry)
      : program_(*program), entry_(*entry), next_id_(NextFreeId(*program)) {}

  void Run() {
    std::vector<proto::HloInstructionProto> before(entry_.instructions().begin(),
                                                   entry_.instructions().end());
    entry_.clear_instructions();
    for (proto::HloInstructionProto& instruction : before) {
      for (int64_t& operand : *instruction.mutable_operand_ids()) {
        if (const auto copy = copy_of_.find(operand); copy != copy_of_.end())
          operand = copy->second;
      }
      if (Is(instruction, HloOpcode::kParameter) && InVmem(instruction.shape())) {
        StageParameter(std::move(instruction));
      } else if (instruction.id() == entry_.root_id()) {
        StageRoot(std::move(instruction));
      } else {
        *entry_.add_instructions() = std::move(instruction);
      }
    }
    UpdateProgramShape();
    program_.clear_schedule();  // of the instructions before
  }

 private:
  proto::HloInstructionProto& Add(HloOpcode opcode, const proto::ShapeProto& shape,
                                  std::vector<int64_t> operands) {
    proto::HloInstructionProto& added = *entry_.add_instructions();
    added.set_id(next_id_++);
    added.set_opcode(std::string(HloOpcodeName(opcode)));
    added.set_name(absl::StrCat(kStagingPrefix, added.id()));
    *added.mutable_shape() = shape;
    added.mutable_operand_ids()->Assign(operands.begin(), operands.end());
    return added;
  }

  // The value `id`, which has the shape `shape`, in HBM.
  int64_t CopyOut(int64_t id, proto::ShapeProto shape) {
    shape.mutable_layout()->set_memory_space(0);
    return Add(HloOpcode::kCopy, shape, {id}).id();
  }

  void StageParameter(proto::HloInstructionProto parameter) {
    const proto::ShapeProto in_vmem = parameter.shape();
    const int64_t id = parameter.id();
    parameter.mutable_shape()->mutable_layout()->set_memory_space(0);
    *entry_.add_instructions() = std::move(parameter);
    copy_of_[id] = Add(HloOpcode::kCopy, in_vmem, {id}).id();
  }

  void StageRoot(proto::HloInstructionProto root) {
    const proto::ShapeProto shape = root.shape();
    const int64_t id = root.id();
    *entry_.add_instructions() = std::move(root);
    if (!AnyInVmem(shape)) return;
    if (shape.tuple_shapes_size() == 0) {
      entry_.set_root_id(CopyOut(id, shape));
      return;
    }
    std::vector<int64_t> elements;
    for (int i = 0; i < shape.tuple_shapes_size(); ++i) {
      const proto::ShapeProto& element = shape.tuple_shapes(i);
      auto& read = Add(HloOpcode::kGetTupleElement, element, {id});
      read.set_tuple_index(i);
      elements.push_back(InVmem(element) ? CopyOut(read.id(), element) : read.id());
    }
    proto::ShapeProto result = shape;
    for (auto& element : *result.mutable_tuple_shapes()) {
      if (InVmem(element)) element.mutable_layout()->set_memory_space(0);
    }
    entry_.set_root_id(Add(HloOpcode::kTuple, result, elements).id());
  }

  void UpdateProgramShape() {
    proto::ProgramShapeProto& shape = *entry_.mutable_program_shape();
    for (const auto& instruction : entry_.instructions()) {
      if (Is(instruction, HloOpcode::kParameter)) {
        const auto number = static_cast<int>(instruction.parameter_number());
        if (number < shape.parameters_size())
          *shape.mutable_parameters(number) = instruction.shape();
      }
      if (instruction.id() == entry_.root_id()) *shape.mutable_result() = instruction.shape();
    }
    *program_.mutable_host_program_shape() = shape;
  }

  proto::HloModuleProto& program_;
  proto::HloComputationProto& entry_;
  int64_t next_id_;
  absl::flat_hash_map<int64_t, int64_t> copy_of_;  // of each parameter that was in VMEM
};

}  // namespace

proto::HloComputationProto* EntryComputation(proto::HloModuleProto* program) {
  for (proto::HloComputationProto& computation : *program->mutable_computations()) {
    if (computation.id() == program->entry_computation_id()) return &computation;
  }
  return nullptr;
}

const proto::HloComputationProto* EntryComputation(const proto::HloModuleProto& program) {
  for (const proto::HloComputationProto& computation : program.computations()) {
    if (computation.id() == program.entry_computation_id()) return &computation;
  }
  return nullptr;
}

bool UsesVmem(const proto::HloModuleProto& kernel_program) {
  const proto::HloComputationProto* entry = EntryComputation(kernel_program);
  return entry != nullptr &&
         std::any_of(entry->instructions().begin(), entry->instructions().end(),
                     [](const auto& instruction) { return AnyInVmem(instruction.shape()); });
}

void StageVmemOperands(proto::HloModuleProto* kernel_program) {
  if (!UsesVmem(*kernel_program)) return;
  Stager(kernel_program, EntryComputation(kernel_program)).Run();
}

}  // namespace autotune
