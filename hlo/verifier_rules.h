// The verifier's rules by family. Internal to hlo/.

#ifndef AUTOTUNE_HLO_VERIFIER_RULES_H_
#define AUTOTUNE_HLO_VERIFIER_RULES_H_

#include "absl/status/status.h"
#include "hlo/instruction.h"
#include "hlo/module.h"
#include "hlo/shape.h"

namespace autotune::verifier_rules {

// True if a value of shape `a` may stand where `b` is declared: see VerifyModule for what is
// ignored.
bool ShapesAgree(const Shape& a, const Shape& b);

// verifier_shapes.cc: the result against what follows from the operands and attributes.
absl::Status CheckShape(const HloInstruction& instruction);
// verifier_calls.cc: called computations against the caller.
absl::Status CheckCalls(const HloInstruction& instruction);
// verifier_collectives.cc: results and groups of operations between devices.
absl::Status CheckCollective(const HloInstruction& instruction);
// verifier_pairs.cc: starts, updates and dones belong to each other; callers and what they call run
// on one thread.
absl::Status CheckPairs(const HloInstruction& instruction);
absl::Status CheckThreads(const HloInstruction& instruction);
// verifier_module.cc
absl::Status CheckEntryLayout(const HloModule& module);
absl::Status CheckAliasing(const HloModule& module);
absl::Status CheckSchedule(const HloModule& module);

}  // namespace autotune::verifier_rules

#endif  // AUTOTUNE_HLO_VERIFIER_RULES_H_
