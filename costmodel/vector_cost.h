#ifndef AUTOTUNE_COSTMODEL_VECTOR_COST_H_
#define AUTOTUNE_COSTMODEL_VECTOR_COST_H_

#include "hlo/element_type.h"
#include "hlo/opcode.h"

namespace autotune {

// How many vector instructions one register (8 x 128 elements of 32 bits) of an operation's result
// takes. Simple arithmetic counts 1, by definition; functions that the hardware approximates count
// the polynomial or the Newton steps around it. Rough, and meant to be: see
// docs/analytical-model.md.
double VectorInstructions(HloOpcode opcode, ElementType type);

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_VECTOR_COST_H_
