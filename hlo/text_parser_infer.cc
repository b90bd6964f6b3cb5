#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hlo/shape_inference.h"
#include "hlo/text_parser.h"

namespace autotune {
namespace {

// Whether XLA gives an inferred result the layout of the first operand.
bool KeepsFirstLayout(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kClamp:
    case HloOpcode::kBitcastConvert:
    case HloOpcode::kConvert:
      return false;
    case HloOpcode::kReverse:
    case HloOpcode::kFft:
    case HloOpcode::kSetDimensionSize:
    case HloOpcode::kScatter:
    case HloOpcode::kSort:
    case HloOpcode::kSelectAndScatter:
    case HloOpcode::kCholesky:
    case HloOpcode::kTriangularSolve:
    case HloOpcode::kBatchNormGrad:
    case HloOpcode::kBatchNormInference:
    case HloOpcode::kBatchNormTraining:
      return true;
    default:
      return IsElementwise(opcode);
  }
}

// The bits of an element come from the operand that the element type comes from.
void CarryElementSize(HloOpcode opcode, absl::Span<const Shape* const> operands, Shape* result) {
  if (opcode != HloOpcode::kClamp && !IsElementwise(opcode)) return;
  const bool second = opcode == HloOpcode::kClamp || opcode == HloOpcode::kSelect;
  if (second && operands.size() < 2) return;
  const Shape& from = *operands[second ? 1 : 0];
  if (!result->has_layout() || !from.IsArray() || !from.has_layout()) return;
  const int64_t bits =
      from.element_type() == result->element_type() ? from.layout().element_size_in_bits : 0;
  if (result->layout().element_size_in_bits == bits) return;
  Layout layout = result->layout();
  layout.element_size_in_bits = bits;
  result->set_layout(std::move(layout));
}

// Carries layout and dynamic dimensions of operands over to an inferred result, as XLA does.
void CarryFromOperands(HloOpcode opcode, absl::Span<const Shape* const> operands,
                       absl::Span<const int64_t> dimensions, Shape* result) {
  if (operands.empty()) return;
  const Shape& first = *operands[0];
  Shape* target = result->IsTuple() && opcode != HloOpcode::kSort && !result->tuple_shapes().empty()
                      ? &result->mutable_tuple_shapes()[0]
                      : result;
  if (!first.IsArray() || !target->IsArray() || !first.has_layout()) return;
  if (target->rank() != first.rank()) {
    CarryElementSize(opcode, operands, target);
    return;
  }
  if (opcode == HloOpcode::kTranspose) {
    // Where each dimension of the operand went.
    Layout layout = first.layout();
    DimensionVector to(dimensions.size(), 0);
    for (size_t i = 0; i < dimensions.size(); ++i) {
      if (dimensions[i] < 0 || dimensions[i] >= static_cast<int64_t>(to.size())) return;
      to[static_cast<size_t>(dimensions[i])] = static_cast<int64_t>(i);
    }
    for (int64_t& d : layout.minor_to_major) {
      if (d < 0 || d >= static_cast<int64_t>(to.size())) return;
      d = to[static_cast<size_t>(d)];
    }
    target->set_layout(std::move(layout));
    return;
  }
  if (KeepsFirstLayout(opcode)) target->set_layout(first.layout());
  CarryElementSize(opcode, operands, target);
  if (!KeepsFirstLayout(opcode) || !IsElementwise(opcode)) return;
  for (const Shape* operand : operands) {
    for (int64_t i = 0; operand->rank() == target->rank() && i < target->rank(); ++i) {
      if (operand->is_dynamic_dimension(i)) target->set_dynamic_dimension(i, true);
    }
  }
}

// Inference that only HLO text knows: a broadcast without a shape puts its `dimensions`, as
// extents, before those of the operand.
std::optional<Shape> InferTextOnly(HloOpcode opcode, absl::Span<const Shape* const> operands,
                                   absl::Span<const int64_t> dimensions,
                                   const proto::HloInstructionProto& attributes) {
  if (operands.empty() || !operands[0]->IsArray()) return std::nullopt;
  const Shape& operand = *operands[0];
  DimensionVector extents;
  if (opcode == HloOpcode::kBroadcast) {
    for (const int64_t extent : dimensions) {
      if (extent < 0) return std::nullopt;
      extents.push_back(extent);
    }
    extents.insert(extents.end(), operand.dimensions().begin(), operand.dimensions().end());
    return Shape::ArrayWithDefaultLayout(operand.element_type(), extents);
  }
  if (opcode == HloOpcode::kTopK && operand.rank() > 0 && attributes.k() >= 0) {
    extents = operand.dimensions();
    extents.back() = attributes.k();
    return Shape::Tuple({Shape::ArrayWithDefaultLayout(operand.element_type(), extents),
                         Shape::ArrayWithDefaultLayout(proto::S32, extents)});
  }
  return std::nullopt;
}

int64_t CountNodes(const Shape& shape) {
  if (!shape.IsTuple()) return 1;
  int64_t nodes = 1;
  for (const Shape& element : shape.tuple_shapes()) nodes += CountNodes(element);
  return nodes;
}

// Tuples whose shape is not written may have so many elements in all, nested ones included.
constexpr size_t kFreeTupleNodes = size_t{1} << 17;
constexpr size_t kTupleNodesPerByte = 8;

}  // namespace

int64_t TextParser::NodesOf(const Shape& shape) {
  if (!shape.IsTuple()) return 1;
  const auto [known, inserted] = tuple_nodes_.try_emplace(&shape, 0);
  if (inserted) known->second = CountNodes(shape);
  return known->second;
}

// A tuple of tuples doubles with each line, so that a short text could fill the memory.
bool TextParser::RoomForTuples(const Pending& p) {
  int64_t nodes = 1;
  for (const HloInstruction* operand : p.operands) nodes += NodesOf(operand->shape());
  for (const HloComputation* callee : p.computations) nodes += NodesOf(callee->root().shape());
  const auto room = static_cast<int64_t>(kFreeTupleNodes + kTupleNodesPerByte * lexer_.offset());
  if (p.f->opcode == HloOpcode::kGetTupleElement || inferred_nodes_ + nodes <= room) return true;
  return Fail(p.offset, absl::StrCat("the tuples without a written shape have more than ", room,
                                     " elements up to here"));
}

bool TextParser::InferResult(Pending* p) {
  if (!RoomForTuples(*p)) return false;
  absl::InlinedVector<const Shape*, 8> operands;
  for (const HloInstruction* operand : p->operands) operands.push_back(&operand->shape());
  absl::InlinedVector<const Shape*, 4> callees;
  for (const HloComputation* callee : p->computations) callees.push_back(&callee->root().shape());
  // XLA's parser takes the scales of the left side for the right side, and this one with it.
  const bool scaled = p->f->opcode == HloOpcode::kScaledDot && operands.size() == 4;
  if (scaled) operands = {operands[0], operands[2]};
  if (std::optional<Shape> text_only =
          InferTextOnly(p->f->opcode, operands, p->f->dimensions, *p->f->attributes)) {
    p->f->shape = builder_->Intern(*std::move(text_only));
    return true;
  }
  const absl::StatusOr<std::optional<Shape>> shape =
      InferShape({.opcode = scaled ? HloOpcode::kDot : p->f->opcode,
                  .operands = operands,
                  .dimensions = p->f->dimensions,
                  .tuple_index = p->f->index,
                  .called_results = callees,
                  .attributes = *p->f->attributes});
  if (!shape.ok()) {
    return Fail(p->offset, absl::StrCat("the shape of this ", HloOpcodeName(p->f->opcode),
                                        " cannot be inferred: ", shape.status().message()));
  }
  if (!shape->has_value()) {
    return Fail(p->offset, absl::StrCat(HloOpcodeName(p->f->opcode), " needs a shape before it"));
  }
  Shape inferred = **shape;
  inferred.SetDefaultLayouts();
  CarryFromOperands(p->f->opcode, operands, p->f->dimensions, &inferred);
  p->f->shape = builder_->Intern(std::move(inferred));
  if (p->f->shape->IsTuple()) inferred_nodes_ += NodesOf(*p->f->shape);
  return true;
}

}  // namespace autotune
