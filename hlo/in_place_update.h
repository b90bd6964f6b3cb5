#ifndef AUTOTUNE_HLO_IN_PLACE_UPDATE_H_
#define AUTOTUNE_HLO_IN_PLACE_UPDATE_H_

#include <cstdint>
#include <optional>

#include "hlo/instruction.h"

namespace autotune {

// A result of a kernel that is a dynamic-update-slice of an array that the kernel is given. The TPU
// compiler writes it into that array: only the update moves, and its shape is what a tile cuts up.
struct InPlaceUpdate {
  const HloInstruction* operation = nullptr;  // the dynamic-update-slice
  const HloInstruction* update = nullptr;     // what is written, within the kernel
  const HloInstruction* parameter = nullptr;  // the array, a parameter of the entry computation
  bool is_read = false;                       // the kernel also reads the array
};

// Result `index` of a kernel's one operation as an update in place; nullopt if it is none. Looks
// into nested fusions and through bitcasts. Refers to the kernel's module.
std::optional<InPlaceUpdate> FindInPlaceUpdate(const HloInstruction& operation, int64_t index);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_IN_PLACE_UPDATE_H_
