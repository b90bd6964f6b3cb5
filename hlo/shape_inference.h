#ifndef AUTOTUNE_HLO_SHAPE_INFERENCE_H_
#define AUTOTUNE_HLO_SHAPE_INFERENCE_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/opcode.h"
#include "hlo/shape.h"
#include "proto/hlo.pb.h"

namespace autotune {

// What decides the shape of an instruction's result.
struct ShapeInferenceInput {
  HloOpcode opcode;
  absl::Span<const Shape* const> operands;
  // The fields that HloInstruction lifts out of its attributes.
  absl::Span<const int64_t> dimensions;
  int64_t tuple_index = 0;
  // Results of the called computations, in the order of called_computations().
  absl::Span<const Shape* const> called_results;
  const proto::HloInstructionProto& attributes;
};

// The shape of the result, with default layouts; nothing for an opcode whose result does not follow
// from its operands and attributes (parameter, constant, broadcast, reshape, convert, iota, rng,
// custom-call, infeed, recv, ...). Fails with InvalidArgument, saying what does not fit, if the
// operands and attributes contradict each other; total on any input. Thread-safe.
//
// Where floating-point types of operands differ, the result has the widest of them, as XLA's mixed
// precision allows.
absl::StatusOr<std::optional<Shape>> InferShape(const ShapeInferenceInput& input);

// The extent of a window's output over a base of `base` elements: how many positions it takes.
// Fails with InvalidArgument on a negative or overflowing window. `size`, `stride` and dilations of
// 0 count as 1.
absl::StatusOr<int64_t> WindowedExtent(int64_t base, const proto::WindowDimension& window);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_SHAPE_INFERENCE_H_
