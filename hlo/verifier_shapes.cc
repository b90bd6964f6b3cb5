// The result of an instruction against what follows from its operands and attributes.

#include <initializer_list>
#include <limits>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "hlo/element_type.h"
#include "hlo/shape_inference.h"
#include "hlo/shape_rules.h"
#include "hlo/verifier_rules.h"

namespace autotune::verifier_rules {
namespace {

using shape_rules::CheckDimensionNumbers;
using shape_rules::DimensionsAgree;
using shape_rules::ExtentsAgree;
using shape_rules::Invalid;
using shape_rules::TypesAgree;

bool IsContraction(HloOpcode opcode) {
  return opcode == HloOpcode::kConvolution || opcode == HloOpcode::kDot ||
         opcode == HloOpcode::kRaggedDot || opcode == HloOpcode::kScaledDot;
}

template <typename Types>
bool Fits(const Shape& a, const Shape& b, const Types& types_fit) {
  if (&a == &b) return true;
  if (a.IsArray() && b.IsArray()) {
    return types_fit(a.element_type(), b.element_type()) && DimensionsAgree(a, b);
  }
  if (a.element_type() != b.element_type()) return false;
  if (a.tuple_shapes().size() != b.tuple_shapes().size()) return false;
  for (size_t i = 0; i < a.tuple_shapes().size(); ++i) {
    if (!Fits(a.tuple_shapes()[i], b.tuple_shapes()[i], types_fit)) return false;
  }
  return true;
}

// Operations whose result is an operand as it is: these cannot change its precision.
bool HandsOn(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kOptBarrier:
    case HloOpcode::kTuple:
    case HloOpcode::kWhile:
      return true;
    default:
      return false;
  }
}

absl::Status CheckInferred(const HloInstruction& instruction) {
  absl::InlinedVector<const Shape*, 4> operands;
  for (const HloInstruction* operand : instruction.operands()) {
    operands.push_back(&operand->shape());
  }
  absl::InlinedVector<const Shape*, 2> called;
  for (const HloComputation* computation : instruction.called_computations()) {
    called.push_back(&computation->root().shape());
  }
  absl::StatusOr<std::optional<Shape>> inferred =
      InferShape({instruction.opcode(), operands, instruction.dimensions(),
                  instruction.tuple_index(), called, instruction.attributes()});
  if (!inferred.ok()) return inferred.status();
  if (!inferred->has_value()) return absl::OkStatus();
  const Shape& expected = **inferred;
  // A contraction may accumulate in another type than its operands'.
  const bool agrees =
      IsContraction(instruction.opcode())
          ? instruction.shape().IsArray() && DimensionsAgree(instruction.shape(), expected)
      : HandsOn(instruction.opcode()) ? ShapesSame(instruction.shape(), expected)
                                      : ShapesAgree(instruction.shape(), expected);
  if (agrees) return absl::OkStatus();
  return Invalid("declared as ", instruction.shape().ToString(false), ", but ",
                 instruction.opcode_name(), " gives ", expected.ToString(false));
}

absl::Status CheckBroadcast(const HloInstruction& broadcast) {
  const Shape& from = broadcast.operand(0).shape();
  const Shape& to = broadcast.shape();
  if (!from.IsArray() || !to.IsArray() || !TypesAgree(from.element_type(), to.element_type())) {
    return Invalid("cannot broadcast ", from.ToString(false), " to ", to.ToString(false));
  }
  if (static_cast<int64_t>(broadcast.dimensions().size()) != from.rank()) {
    return Invalid("broadcast of an array of rank ", from.rank(), " names ",
                   broadcast.dimensions().size(), " dimensions");
  }
  AUTOTUNE_RETURN_IF_ERROR(
      CheckDimensionNumbers("dimensions of broadcast", broadcast.dimensions(), to.rank()));
  for (int64_t d = 0; d < from.rank(); ++d) {
    if (!ExtentsAgree(from.dimensions(d), to.dimensions(broadcast.dimensions()[d]))) {
      return Invalid("broadcast puts dimension ", d, " of ", from.ToString(false), " on dimension ",
                     broadcast.dimensions()[d], " of ", to.ToString(false));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckReshape(const HloInstruction& reshape) {
  const Shape& from = reshape.operand(0).shape();
  const Shape& to = reshape.shape();
  const bool unbounded = from.HasUnboundedDimension() || to.HasUnboundedDimension();
  if (from.IsArray() && to.IsArray() && TypesAgree(from.element_type(), to.element_type()) &&
      (unbounded || from.ElementCount() == to.ElementCount())) {
    return absl::OkStatus();
  }
  return Invalid("cannot reshape ", from.ToString(false), " to ", to.ToString(false));
}

absl::Status CheckConvert(const HloInstruction& convert) {
  const Shape& from = convert.operand(0).shape();
  const Shape& to = convert.shape();
  if (from.IsArray() && to.IsArray() && DimensionsAgree(from, to)) return absl::OkStatus();
  return Invalid("cannot convert ", from.ToString(false), " to ", to.ToString(false));
}

// Elements of equal width keep their extents; a wider one takes or makes a last dimension that
// holds the parts.
absl::Status CheckBitcastConvert(const HloInstruction& convert) {
  const Shape& from = convert.operand(0).shape();
  const Shape& to = convert.shape();
  const absl::Status error =
      Invalid("cannot bitcast-convert ", from.ToString(false), " to ", to.ToString(false));
  if (!from.IsArray() || !to.IsArray()) return error;
  const int from_bits = BitWidth(from.element_type());
  const int to_bits = BitWidth(to.element_type());
  if (from_bits == to_bits) return DimensionsAgree(from, to) ? absl::OkStatus() : error;
  const Shape& narrow = from_bits < to_bits ? from : to;
  const Shape& wide = from_bits < to_bits ? to : from;
  if (narrow.rank() != wide.rank() + 1) return error;
  for (int64_t d = 0; d < wide.rank(); ++d) {
    if (!ExtentsAgree(narrow.dimensions(d), wide.dimensions(d))) return error;
  }
  const int parts = std::max(from_bits, to_bits) / std::max(1, std::min(from_bits, to_bits));
  return ExtentsAgree(narrow.dimensions(wide.rank()), parts) ? absl::OkStatus() : error;
}

absl::Status CheckIota(const HloInstruction& iota) {
  if (!iota.shape().IsArray() || iota.shape().element_type() == proto::PRED) {
    return Invalid("iota cannot make ", iota.shape().ToString(false));
  }
  if (iota.dimensions().size() != 1 || iota.dimensions()[0] < 0 ||
      iota.dimensions()[0] >= iota.shape().rank()) {
    return Invalid("iota_dimension must name a dimension of ", iota.shape().ToString(false));
  }
  return absl::OkStatus();
}

absl::Status CheckConstant(const HloInstruction& constant) {
  const Literal* literal = constant.literal();
  if (literal == nullptr || literal->shape == nullptr) return Invalid("a constant without a value");
  if (ShapesSame(constant.shape(), *literal->shape)) return absl::OkStatus();
  return Invalid("declared as ", constant.shape().ToString(false), ", but its value is ",
                 literal->shape->ToString(false));
}

absl::Status CheckRng(const HloInstruction& rng) {
  for (const HloInstruction* operand : rng.operands()) {
    if (!operand->shape().IsScalar()) {
      return Invalid("rng takes scalars, got ", operand->shape().ToString(false));
    }
  }
  if (rng.operand_count() != 2) return Invalid("rng takes 2 operands, got ", rng.operand_count());
  if (!rng.shape().IsArray()) return Invalid("rng cannot make ", rng.shape().ToString(false));
  const ElementType type = rng.operand(0).shape().element_type();
  if (type != rng.operand(1).shape().element_type() ||
      !TypesAgree(type, rng.shape().element_type())) {
    return Invalid("rng of ", rng.operand(0).shape().ToString(false), " and ",
                   rng.operand(1).shape().ToString(false), " cannot make ",
                   rng.shape().ToString(false));
  }
  const bool uniform = rng.attributes().distribution() == proto::RNG_UNIFORM;
  if (!uniform && rng.attributes().distribution() != proto::RNG_NORMAL) {
    return Invalid("rng needs a distribution");
  }
  if (IsFloating(type) || (uniform && (IsIntegral(type) || type == proto::PRED))) {
    return absl::OkStatus();
  }
  return Invalid("there are no ", uniform ? "uniform" : "normal", " numbers of ",
                 ElementTypeName(type));
}

absl::Status CheckReducePrecision(const HloInstruction& instruction) {
  if (instruction.attributes().exponent_bits() < 1 ||
      instruction.attributes().mantissa_bits() < 0) {
    return Invalid("reduce-precision keeps at least 1 bit of exponent and 0 of mantissa, not ",
                   instruction.attributes().exponent_bits(), " and ",
                   instruction.attributes().mantissa_bits());
  }
  return CheckInferred(instruction);
}

bool IsSparse(const HloInstruction& convolution) {
  const proto::SparsityConfig& sparsity = convolution.attributes().sparsity_config();
  return sparsity.has_lhs() || sparsity.has_rhs();
}

absl::Status CheckCompare(const HloInstruction& compare) {
  const std::string& direction = compare.attributes().comparison_direction();
  const bool known = absl::c_linear_search(
      std::initializer_list<absl::string_view>{"EQ", "NE", "GE", "GT", "LE", "LT"}, direction);
  if (!known) return Invalid("unknown comparison direction \"", direction, "\"");
  AUTOTUNE_RETURN_IF_ERROR(CheckInferred(compare));
  const ElementType type = compare.operand(1).shape().element_type();
  const std::string& comparison = compare.attributes().comparison_type();
  const bool fits = IsFloating(type)         ? comparison == "FLOAT" || comparison == "TOTALORDER"
                    : IsComplex(type)        ? comparison == "FLOAT"
                    : IsSignedIntegral(type) ? comparison == "SIGNED"
                                             : comparison == "UNSIGNED";
  if (fits || comparison.empty()) return absl::OkStatus();
  return Invalid("a comparison of ", ElementTypeName(type), " cannot be of type ", comparison);
}

}  // namespace

bool ShapesAgree(const Shape& a, const Shape& b) { return Fits(a, b, TypesAgree); }

bool ShapesSame(const Shape& a, const Shape& b) {
  return Fits(a, b, [](ElementType x, ElementType y) { return x == y; });
}

absl::Status CheckShape(const HloInstruction& instruction) {
  AUTOTUNE_RETURN_IF_ERROR(CheckResult(instruction));
  switch (instruction.opcode()) {
    case HloOpcode::kAsyncDone:  // CheckAsync compares it with the wrapped computation
      return absl::OkStatus();
    case HloOpcode::kScan:
      return CheckScan(instruction);
    case HloOpcode::kBroadcast:
      return CheckBroadcast(instruction);
    case HloOpcode::kReshape:
      return CheckReshape(instruction);
    case HloOpcode::kConvert:
      return CheckConvert(instruction);
    case HloOpcode::kBitcastConvert:
      return CheckBitcastConvert(instruction);
    case HloOpcode::kIota:
      return CheckIota(instruction);
    case HloOpcode::kConstant:
      return CheckConstant(instruction);
    case HloOpcode::kRng:
      return CheckRng(instruction);
    case HloOpcode::kReducePrecision:
      return CheckReducePrecision(instruction);
    case HloOpcode::kConvolution:
      // A sparse operand is a tuple of values and positions.
      return IsSparse(instruction) ? absl::OkStatus() : CheckInferred(instruction);
    case HloOpcode::kCompare:
      return CheckCompare(instruction);
    default:
      return CheckInferred(instruction);
  }
}

}  // namespace autotune::verifier_rules
