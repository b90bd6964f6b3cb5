#include "hlo/fusion_inline.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "hlo/fusion_proto.h"

namespace autotune {
namespace {

using IdMap = absl::flat_hash_map<int64_t, int64_t>;

class Inliner {
 public:
  explicit Inliner(proto::HloModuleProto* module) : module_(*module), fresh_(*module) {}

  // Callees come before their callers, so what is put in place of a call holds no calls itself.
  void Run() {
    for (proto::HloComputationProto& computation : *module_.mutable_computations()) {
      InlineInto(&computation);
      by_id_[computation.id()] = &computation;
    }
    DropUnreachable();
  }

 private:
  // Instructions that take part in control dependencies.
  static absl::flat_hash_set<int64_t> Controlled(const proto::HloComputationProto& computation) {
    absl::flat_hash_set<int64_t> controlled;
    for (const proto::HloInstructionProto& instruction : computation.instructions()) {
      if (instruction.control_predecessor_ids().empty()) continue;
      controlled.insert(instruction.id());
      for (int64_t id : instruction.control_predecessor_ids()) controlled.insert(id);
    }
    return controlled;
  }

  void InlineInto(proto::HloComputationProto* computation) {
    const absl::flat_hash_set<int64_t> controlled = Controlled(*computation);
    std::vector<proto::HloInstructionProto> kept;
    kept.reserve(static_cast<size_t>(computation->instructions_size()));
    IdMap replaced;  // a call's id to that of what stands for its result
    for (proto::HloInstructionProto& instruction : *computation->mutable_instructions()) {
      for (int64_t& operand : *instruction.mutable_operand_ids()) {
        if (const auto it = replaced.find(operand); it != replaced.end()) operand = it->second;
      }
      const bool inlined = instruction.opcode() == "call" && !instruction.is_composite() &&
                           instruction.called_computation_ids_size() == 1 &&
                           !controlled.contains(instruction.id());
      if (!inlined) {
        kept.push_back(std::move(instruction));
        continue;
      }
      replaced[instruction.id()] = InlineCall(instruction, computation->id(), &kept);
    }
    const auto root = replaced.find(computation->root_id());
    if (root != replaced.end()) computation->set_root_id(root->second);
    computation->clear_instructions();
    for (proto::HloInstructionProto& instruction : kept) {
      *computation->add_instructions() = std::move(instruction);
    }
  }

  // Adds the callee's body and returns the id of its result.
  int64_t InlineCall(const proto::HloInstructionProto& call, int64_t computation_id,
                     std::vector<proto::HloInstructionProto>* kept) {
    const proto::HloComputationProto& callee = *by_id_.at(call.called_computation_ids(0));
    IdMap ids;
    for (const proto::HloInstructionProto& inner : callee.instructions()) {
      if (inner.opcode() == "parameter") {
        ids[inner.id()] = call.operand_ids(static_cast<int>(inner.parameter_number()));
        continue;
      }
      proto::HloInstructionProto copy = inner;
      copy.set_name(fresh_.Name(inner.name()));
      copy.set_id(fresh_.Id(computation_id));
      if (copy.metadata().ByteSizeLong() == 0) *copy.mutable_metadata() = call.metadata();
      for (int64_t& operand : *copy.mutable_operand_ids()) operand = ids.at(operand);
      for (int64_t& id : *copy.mutable_control_predecessor_ids()) id = ids.at(id);
      ids[inner.id()] = copy.id();
      kept->push_back(std::move(copy));
    }
    return ids.at(callee.root_id());
  }

  void DropUnreachable() {
    absl::flat_hash_set<int64_t> reached = {module_.entry_computation_id()};
    for (int i = module_.computations_size() - 1; i >= 0; --i) {
      if (!reached.contains(module_.computations(i).id())) continue;
      for (const proto::HloInstructionProto& user : module_.computations(i).instructions()) {
        for (int64_t callee : user.called_computation_ids()) reached.insert(callee);
      }
    }
    google::protobuf::RepeatedPtrField<proto::HloComputationProto> kept;
    for (proto::HloComputationProto& computation : *module_.mutable_computations()) {
      if (reached.contains(computation.id())) *kept.Add() = std::move(computation);
    }
    module_.mutable_computations()->Swap(&kept);
  }

  proto::HloModuleProto& module_;
  FreshNames fresh_;
  absl::flat_hash_map<int64_t, const proto::HloComputationProto*> by_id_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HloModule>> InlineCalls(const HloModule& module) {
  if (module.is_scheduled()) {
    return absl::InvalidArgumentError(
        "the program is scheduled, so it is optimised already: fusion is chosen in the program "
        "before optimisation");
  }
  proto::HloModuleProto proto = module.ToProto();
  Inliner(&proto).Run();
  return HloModule::FromProto(proto);
}

absl::StatusOr<FusionGraph> InlinedFusionGraph(const HloModule& module) {
  absl::StatusOr<std::unique_ptr<HloModule>> inlined = InlineCalls(module);
  if (!inlined.ok()) return inlined.status();
  return FusionGraph::Create(*std::move(inlined));
}

}  // namespace autotune
