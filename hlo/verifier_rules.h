// The verifier's rules by family. Internal to hlo/.

#ifndef AUTOTUNE_HLO_VERIFIER_RULES_H_
#define AUTOTUNE_HLO_VERIFIER_RULES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "hlo/instruction.h"
#include "hlo/module.h"
#include "hlo/shape.h"

namespace autotune::verifier_rules {

// True if a value of shape `a` may stand where `b` is declared: see VerifyModule for what is
// ignored.
bool ShapesAgree(const Shape& a, const Shape& b);
// The same without mixed precision: for operations that hand values on as they are.
bool ShapesSame(const Shape& a, const Shape& b);

// The part of `shape` at `index`, or null if there is none.
const Shape* PartAt(const Shape& shape, const google::protobuf::RepeatedField<int64_t>& index);

// verifier_shapes.cc: the result against what follows from the operands and attributes.
absl::Status CheckShape(const HloInstruction& instruction);
// verifier_results.cc: the same for operations whose shape is never left out.
absl::Status CheckResult(const HloInstruction& instruction);
// verifier_scan.cc
absl::Status CheckScan(const HloInstruction& scan);
// verifier_calls.cc: called computations against the caller.
absl::Status CheckCalls(const HloInstruction& instruction);
// verifier_collectives.cc: results and groups of operations between devices.
absl::Status CheckCollective(const HloInstruction& instruction);
// Each part of the result has its operand's shape but along `dimension`, where `scale_up` says
// whether the result is a multiple of the operand or the other way round; -1 for no such dimension.
absl::Status CheckParts(const HloInstruction& instruction, const Shape& result, int64_t dimension,
                        bool scale_up);
// The devices that the groups of a collective have to hold: replicas, partitions or both; 1 if the
// module does not say. XLA: GetCollectiveOpGroupMode.
int64_t DevicesOf(const HloInstruction& instruction);
// verifier_permutes.cc
absl::Status CheckPermute(const HloInstruction& permute);
// verifier_pairs.cc: starts, updates and dones belong to each other; callers and what they call run
// on one thread.
absl::Status CheckPairs(const HloInstruction& instruction);
absl::Status CheckThreads(const HloInstruction& instruction);
// verifier_async.cc: asynchronous chains against what they wrap.
absl::Status CheckAsync(const HloInstruction& instruction);
// verifier_sharding.cc: shardings against shapes, and of loops and branches against each other.
absl::Status CheckSharding(const HloInstruction& instruction);
// verifier_aliasing.cc: what a result shares with operands and parameters.
absl::Status CheckOutputAliasing(const HloInstruction& instruction);
absl::Status CheckAliasing(const HloModule& module);
// verifier_buffers.cc: values of a buffer type.
absl::Status CheckBuffers(const HloInstruction& instruction);
// verifier_module.cc
absl::Status CheckOrigin(const HloInstruction& instruction);
absl::Status CheckEntryLayout(const HloModule& module);
absl::Status CheckSchedule(const HloModule& module);
// Host transfers of one channel are alike, and so are the layout constraints of all-reduces.
absl::Status CheckChannels(const HloModule& module);

}  // namespace autotune::verifier_rules

#endif  // AUTOTUNE_HLO_VERIFIER_RULES_H_
