#ifndef AUTOTUNE_HARDWARE_LOOP_PROGRAM_H_
#define AUTOTUNE_HARDWARE_LOOP_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlo/module.h"
#include "hlo/shape.h"

namespace autotune {

// What makes one trip of a timing loop wait for the one before, so that no compiler hoists the
// program out of the loop.
enum class LoopLink {
  // Operands and the last result pass through one `opt-barrier`: adds no operation. Compilers that
  // drop barriers early (XLA's for CPUs does) hoist nonetheless.
  kBarrier,
  // The first element of each operand is written again, chosen by a flag that is false at run time
  // between itself and an element of the last result: one small operation an operand.
  kUpdate,
};

// "device loop, barrier" and "device loop, update": as Measurement::method.
absl::string_view LoopLinkName(LoopLink link);

// A program that runs another one in a loop. Its parameters are, in order: those of the other one;
// one array for each array of its result (any values, taken as the result before the first trip);
// the number of trips (s32[]); with kUpdate a flag (pred[]), which has to be false. Its result is
// that of the last trip.
struct LoopProgram {
  proto::HloModuleProto module;
  // The arrays of the result, in order; the shapes of the second group of parameters.
  std::vector<Shape> results;
};

// Puts the entry computation of `program` into a loop. A scheduled program gives a scheduled one;
// donated and aliased parameters are no longer so. Unimplemented for parameters or results that are
// no arrays (or, results, tuples of arrays), and for kUpdate where no operand or result can take
// part.
absl::StatusOr<LoopProgram> MakeLoopProgram(const HloModule& program, LoopLink link);

// OK if the loop of the compiled `loop` still does what `alone`, the same program compiled without
// the loop, does in all: nothing was hoisted out of it. FailedPrecondition, saying what is missing,
// otherwise.
absl::Status CheckLoopBody(const HloModule& alone, const HloModule& loop);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_LOOP_PROGRAM_H_
