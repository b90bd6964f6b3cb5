#ifndef AUTOTUNE_HLO_KERNEL_MODULE_H_
#define AUTOTUNE_HLO_KERNEL_MODULE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "hlo/instruction.h"
#include "hlo/module.h"

namespace autotune {

// True for operations that a kernel's module may hold beside the kernel itself: parameters and
// constants.
bool IsKernelInput(HloOpcode opcode);

// A module whose entry computation is named and shaped like `operation`: a parameter for each
// distinct operand (but a constant of one element comes along as it is, unless a fusion takes it)
// and the operation as root, with the computations that it calls. Metadata stays, without the
// references into the program's stack frames.
absl::StatusOr<std::unique_ptr<HloModule>> BuildKernelModule(const HloInstruction& operation);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_KERNEL_MODULE_H_
