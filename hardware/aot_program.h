#ifndef AUTOTUNE_HARDWARE_AOT_PROGRAM_H_
#define AUTOTUNE_HARDWARE_AOT_PROGRAM_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hardware/elided_constants.h"
#include "hlo/instruction.h"
#include "hlo/kernel.h"
#include "hlo/module.h"
#include "hlo/tile_bounds.h"
#include "proto/hlo.pb.h"

namespace autotune {

// A `backend_config` that asks the TPU compiler for these bounds. Of `original`, what the compiler
// keeps beside the window (the convolution's algorithm, flags) stays; the rest, which describes the
// outcome of another compilation, goes. Input bounds, where they are not given, and iteration
// bounds are left to the compiler.
std::string WithWindowConfig(absl::string_view original, const TileBounds& bounds,
                             const WindowBounds& input = {});

// What a copy of `operand` into the layout of `result` reads for an output window of `output`, in
// tiles of the operand's layout: as many as it takes to hold the window. Copies that turn the minor
// dimensions over are the only kernels whose input bounds the compiler does not derive ("Invalid
// input window bounds"). As the compiler has it on all 307 such copies of 36 compiled programs.
// Empty for bounds that are not of the result's rank.
WindowBounds CopyInputBounds(const Shape& operand, const Shape& result, const WindowBounds& output);

// The input bounds that a kernel of an optimised program needs beside `bounds`: those of
// CopyInputBounds for a copy that the compiler gave some, else none.
WindowBounds InputBoundsFor(const HloInstruction& kernel, const TileBounds& bounds);

// The kernel's module as the TPU compiler takes it whole: scheduled, so that the passes over HLO
// are skipped and the fusion stays as it is; with the layouts and memory spaces of parameters and
// results pinned by frontend attributes; and with `bounds` on the kernel, or with nothing, for the
// compiler to choose, if `bounds` is null.
proto::HloModuleProto KernelProgram(const Kernel& kernel, const TileBounds* bounds);

// Pins the layouts of the parameters and results of `program` to what its entry computation holds.
void PinEntryLayouts(proto::HloModuleProto* program);

// Whether `compiled`, what the compiler made of KernelProgram, holds the kernel, once and alone but
// for the copies of StageVmemOperands: same operation, layouts and memory spaces, and the requested
// bounds. Returns the compiler's choice for it, if the kernel has a window; FailedPrecondition,
// saying what came out, otherwise.
absl::StatusOr<std::optional<CompilerChoice>> CheckFaithful(const Kernel& kernel,
                                                            const TileBounds* bounds,
                                                            const HloModule& compiled);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_AOT_PROGRAM_H_
