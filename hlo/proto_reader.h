#ifndef AUTOTUNE_HLO_PROTO_READER_H_
#define AUTOTUNE_HLO_PROTO_READER_H_

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlo/module.h"
#include "hlo/module_builder.h"
#include "proto/hlo.pb.h"

namespace autotune {

// Builds a module from its protobuf form, adopting the messages: attributes are not copied.
// Internal to hlo/; users call HloModule::FromProto or ReadModuleFile.
class ProtoReader {
 public:
  explicit ProtoReader(ModuleBuilder* builder) : builder_(*builder) {}

  // `source` must live as long as the module: in builder.arena(), or owned by it. Its instructions
  // and computations are moved elsewhere, where they live as long.
  absl::StatusOr<std::unique_ptr<HloModule>> Read(proto::HloModuleProto* source);

 private:
  using InstructionMap = absl::flat_hash_map<int64_t, HloInstruction*>;

  absl::Status ReadComputation(proto::HloComputationProto* source);
  absl::Status ReadInstruction(const proto::HloInstructionProto& source, InstructionMap* by_id,
                               HloComputation* computation);
  absl::Status LinkOperands(const proto::HloInstructionProto& source, const InstructionMap& by_id,
                            ModuleBuilder::Instruction* instruction);
  absl::Status LinkCalls(const proto::HloInstructionProto& source,
                         ModuleBuilder::Instruction* instruction);
  absl::Status LinkControl(const google::protobuf::RepeatedPtrField<proto::HloInstructionProto>&
                               sources,
                           const InstructionMap& by_id);
  absl::Status PlaceParameters(HloComputation* computation);
  // Puts the instructions in the order of the schedule, if there is one for the computation.
  absl::Status ApplySchedule(const InstructionMap& by_id, HloComputation* computation);
  const OpMetadata* ReadMetadata(const proto::OpMetadata& source);

  ModuleBuilder& builder_;
  proto::HloModuleProto* module_ = nullptr;
  absl::flat_hash_map<int64_t, HloComputation*> computations_;
  std::vector<const HloComputation*> order_;
};

// The value that `source` holds, with elements in the builder's arena where they are not adopted.
// Fails with InvalidArgument on a wrong number of elements. `depth` guards against deep nesting.
absl::StatusOr<const Literal*> ReadLiteral(const proto::LiteralProto& source,
                                           ModuleBuilder* builder, int depth = 0);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_PROTO_READER_H_
