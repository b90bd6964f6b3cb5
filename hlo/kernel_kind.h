#ifndef AUTOTUNE_HLO_KERNEL_KIND_H_
#define AUTOTUNE_HLO_KERNEL_KIND_H_

#include <string>

#include "hlo/instruction.h"
#include "hlo/opcode.h"

namespace autotune {

// What a person calls a kernel: "convolution fusion", "reduce fusion", "loop fusion", "copy", ... A
// fusion is named after the most telling operation within it.
std::string KernelKind(const HloInstruction& operation);

// True for operations that compute on the matrix unit.
bool IsContraction(HloOpcode opcode);

// True for operations that take a kernel of their own in an optimised TPU program when they work on
// arrays; false for those that only name, group or move values (tuples, bitcasts, copies by the DMA
// engine, collectives, control flow).
bool RunsAsKernel(HloOpcode opcode);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_KERNEL_KIND_H_
