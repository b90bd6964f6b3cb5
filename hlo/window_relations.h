#ifndef AUTOTUNE_HLO_WINDOW_RELATIONS_H_
#define AUTOTUNE_HLO_WINDOW_RELATIONS_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "hlo/instruction.h"
#include "hlo/window_dim.h"

namespace autotune {

// What a window of an instruction's result needs of its operands, and the other way round. Windows
// are given per logical dimension, dimension 0 first. Pure functions.

// The window of operand `i` that yields `result`; nullopt if the operation says nothing about it
// (gather indices, unknown operations).
std::optional<Windows> OperandWindows(const HloInstruction& instruction, int64_t i,
                                      const Windows& result);

// The window of the result that follows from a window of operand `i`; nullopt if it does not
// follow, as for a broadcast, whose new dimensions are free.
std::optional<Windows> ResultWindows(const HloInstruction& instruction, int64_t i,
                                     const Windows& operand);

// The windows of an array of extents `to` that holds the same elements in the same order as one of
// extents `from`. REQUIRES: the products of the extents are equal, and windows has an entry per
// extent of `from`.
Windows RegroupWindows(const Windows& windows, absl::Span<const int64_t> from,
                       absl::Span<const int64_t> to);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_WINDOW_RELATIONS_H_
