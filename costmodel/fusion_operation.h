#ifndef AUTOTUNE_COSTMODEL_FUSION_OPERATION_H_
#define AUTOTUNE_COSTMODEL_FUSION_OPERATION_H_

#include <cstdint>
#include <optional>

#include "hardware/device_spec.h"
#include "hlo/fusion_graph.h"
#include "hlo/instruction.h"
#include "hlo/shape.h"

namespace autotune {

// Vector registers hold eight rows of 128 elements.
inline constexpr double kVectorLanes = 128;
inline constexpr double kVectorSublanes = 8;

// The extent of the dimension that is `from_minor` away from the minor one; 1 where there is none.
double ExtentOf(const Shape& shape, int from_minor);
// The share of whole multiples of `of` that an extent fills, in (0, 1].
double UseOf(double extent, double of);
// The elements of an array whose last two extents are padded to whole vector registers; 0 of
// others.
double PaddedElements(const Shape& shape);
// 0 of what is no array.
double BytesPerElement(const Shape& shape);
// The elements of an operation's window; 1 without one.
double WindowSize(const HloInstruction& instruction);

// A matrix product or convolution, in numbers of elements; a convolution's window, strides and
// dilations as products over its dimensions.
struct MatrixProduct {
  double rows = 0, columns = 0, contracted = 0, batch = 1;
  double window = 1, stride = 1, dilation = 1, groups = 1;
};

// What an operation before optimisation would add to the kernel that it gets into. Data only.
struct FusionOperation {
  // Kinds of arithmetic; kFusionKindNames has their names.
  enum Kind : int8_t {
    kSimple,
    kDivide,
    kTranscendental,
    kConvert,
    kBroadcast,
    kReshape,
    kTranspose,
    kMove,
    kUpdate,
    kReduceMinor,
    kReduceOther,
    kWindow,
    kGather,
    kScatter,
    kProduct,
    kOther,
    kKinds
  };
  Kind kind = kOther;
  double registers = 0;       // of arithmetic, padded to whole ones
  double vector_seconds = 0;  // of one pass over them
  double product_seconds = 0;
  double bytes = 0;         // of the value, where it takes traffic
  double padded_bytes = 0;  // with its last two extents padded to registers
  std::optional<MatrixProduct> product;
};

inline constexpr const char* kFusionKindNames[] = {
    "simple",    "divide",  "transcendental", "convert",      "broadcast",    "reshape",
    "transpose", "move",    "update",         "reduce_minor", "reduce_other", "window",
    "gather",    "scatter", "product",        "other"};

// `flops`: of CostAnalysis.
FusionOperation DescribeOperation(const FusionNode& node, double flops, const DeviceSpec& device);

// The bytes that an operation reads of its first operand if that is a part only; else negative.
double PartRead(const HloInstruction& instruction);

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_FUSION_OPERATION_H_
