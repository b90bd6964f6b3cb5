#ifndef AUTOTUNE_HARDWARE_ELIDED_CONSTANTS_H_
#define AUTOTUNE_HARDWARE_ELIDED_CONSTANTS_H_

#include <cstdint>

#include "proto/hlo.pb.h"

namespace autotune {

// Gives every constant whose value was elided (`constant({...})`) another one: compilers refuse a
// literal without data. With seed 0 zeros, else random values as RandomInputs makes them. What is
// compiled then has the program's shapes and costs, not its results. Returns how many there were.
int64_t FillElidedConstants(proto::HloModuleProto* program, uint64_t seed = 0);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_ELIDED_CONSTANTS_H_
