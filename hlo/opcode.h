#ifndef AUTOTUNE_HLO_OPCODE_H_
#define AUTOTUNE_HLO_OPCODE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace autotune {

// What an instruction does. `kUnknown` stands for an opcode of a newer XLA that was kept verbatim
// (see ParseOptions::keep_unknown); its name is HloInstruction::opcode_name().
enum class HloOpcode : uint8_t {
#define AUTOTUNE_HLO_OPCODE(enumerator, name, operands) enumerator,
#include "hlo/opcode_list.inc"
#undef AUTOTUNE_HLO_OPCODE
  kUnknown,
};

// The name in text and protobuf form, for instance "all-reduce-start"; "unknown" for kUnknown.
absl::string_view HloOpcodeName(HloOpcode opcode);

// The opcode with that name, or nothing. Case matters.
std::optional<HloOpcode> HloOpcodeFromName(absl::string_view name);

// How many operands the opcode takes, or nothing if that varies.
std::optional<int> HloOpcodeOperandCount(HloOpcode opcode);

// True for operations that compute each element of the result from the same element of the
// operands alone (unary, binary, ternary arithmetic, comparisons, selects, conversions).
bool IsElementwise(HloOpcode opcode);

// True for operations that talk to other devices.
bool IsCollective(HloOpcode opcode);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_OPCODE_H_
