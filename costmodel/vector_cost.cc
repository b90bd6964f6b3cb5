#include "costmodel/vector_cost.h"

namespace autotune {
namespace {

double RealInstructions(HloOpcode opcode) {
  switch (opcode) {
    // Registers are reused or made by an immediate.
    case HloOpcode::kIota:
    case HloOpcode::kBroadcast:
    case HloOpcode::kReshape:
    case HloOpcode::kBitcastConvert:
    case HloOpcode::kOptBarrier:
      return 0.5;
    // Sublanes or lanes are shuffled.
    case HloOpcode::kTranspose:
    case HloOpcode::kCopy:
    case HloOpcode::kReverse:
    case HloOpcode::kConcatenate:
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kGather:
      return 3;
    case HloOpcode::kDivide:
    case HloOpcode::kRemainder:
      return 8;
    case HloOpcode::kSqrt:
    case HloOpcode::kRsqrt:
    case HloOpcode::kCbrt:
      return 6;
    case HloOpcode::kExp:
    case HloOpcode::kLog:
    case HloOpcode::kTanh:
    case HloOpcode::kLogistic:
      return 10;
    case HloOpcode::kExpm1:
    case HloOpcode::kLog1p:
    case HloOpcode::kPower:
    case HloOpcode::kErf:
    case HloOpcode::kRng:
    case HloOpcode::kRngBitGenerator:
      return 20;
    case HloOpcode::kSin:
    case HloOpcode::kCos:
    case HloOpcode::kTan:
    case HloOpcode::kAtan2:
      return 30;
    default:
      return 1;
  }
}

}  // namespace

double VectorInstructions(HloOpcode opcode, ElementType type) {
  // A complex number is two registers, and its product four.
  const double width = IsComplex(type) ? 3 : 1;
  return width * RealInstructions(opcode);
}

}  // namespace autotune
