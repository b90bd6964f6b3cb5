#include "hlo/fusion_apply.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hlo/fusion_proto.h"
#include "hlo/verifier.h"

namespace autotune {
namespace {

// Of one computation: the consumers, by id, that read a producer, by id, through a barrier.
using CutMap = absl::flat_hash_map<int64_t, absl::flat_hash_set<int64_t>>;

proto::HloInstructionProto Barrier(const proto::HloInstructionProto& value, int64_t computation,
                                   FreshNames* fresh) {
  proto::HloInstructionProto barrier;
  barrier.set_name(fresh->Name("opt-barrier"));
  barrier.set_opcode("opt-barrier");
  barrier.set_id(fresh->Id(computation));
  *barrier.mutable_shape() = value.shape();
  if (value.has_metadata()) *barrier.mutable_metadata() = value.metadata();
  if (value.has_sharding()) *barrier.mutable_sharding() = value.sharding();
  barrier.add_operand_ids(value.id());
  return barrier;
}

void CutComputation(const CutMap& cuts, proto::HloComputationProto* computation,
                    FreshNames* fresh) {
  google::protobuf::RepeatedPtrField<proto::HloInstructionProto> rebuilt;
  rebuilt.Reserve(computation->instructions_size() + static_cast<int>(cuts.size()));
  absl::flat_hash_map<int64_t, int64_t> barrier_of;
  for (proto::HloInstructionProto& instruction : *computation->mutable_instructions()) {
    for (int64_t& operand : *instruction.mutable_operand_ids()) {
      const auto cut = cuts.find(operand);
      if (cut != cuts.end() && cut->second.contains(instruction.id())) {
        operand = barrier_of.at(operand);
      }
    }
    const bool cut = cuts.contains(instruction.id());
    *rebuilt.Add() = std::move(instruction);
    if (!cut) continue;
    const proto::HloInstructionProto& value = rebuilt.Get(rebuilt.size() - 1);
    proto::HloInstructionProto barrier = Barrier(value, computation->id(), fresh);
    barrier_of[value.id()] = barrier.id();
    *rebuilt.Add() = std::move(barrier);
  }
  computation->mutable_instructions()->Swap(&rebuilt);
}

}  // namespace

absl::StatusOr<proto::HloModuleProto> FusionProgram(const FusionGraph& graph,
                                                    const FusionDecision& decision) {
  absl::flat_hash_map<int64_t, CutMap> cuts;  // by computation
  for (int64_t cut : decision.cuts) {
    if (cut < 0 || cut >= graph.edge_count()) {
      return absl::InvalidArgumentError(absl::StrCat("the configuration cuts edge ", cut,
                                                     ", but the program has ", graph.edge_count(),
                                                     " fusible edges"));
    }
    const FusionEdge& edge = graph.edges()[static_cast<size_t>(cut)];
    const HloInstruction& producer = *graph.nodes()[static_cast<size_t>(edge.producer)].instruction;
    const HloInstruction& consumer = *graph.nodes()[static_cast<size_t>(edge.consumer)].instruction;
    cuts[producer.parent().id()][producer.id()].insert(consumer.id());
  }
  proto::HloModuleProto program = graph.module().ToProto();
  FreshNames fresh(program);
  for (proto::HloComputationProto& computation : *program.mutable_computations()) {
    const auto found = cuts.find(computation.id());
    if (found != cuts.end()) CutComputation(found->second, &computation, &fresh);
  }
  return program;
}

absl::StatusOr<std::unique_ptr<HloModule>> ApplyFusion(const FusionGraph& graph,
                                                       const FusionDecision& decision) {
  absl::StatusOr<proto::HloModuleProto> program = FusionProgram(graph, decision);
  if (!program.ok()) return program.status();
  absl::StatusOr<std::unique_ptr<HloModule>> module = HloModule::FromProto(*program);
  if (!module.ok()) return module.status();
  if (absl::Status status = VerifyStatus(**module); !status.ok()) return status;
  return module;
}

}  // namespace autotune
