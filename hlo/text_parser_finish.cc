#include <utility>

#include "absl/strings/str_cat.h"
#include "hlo/text_parser.h"

namespace autotune {
namespace {

// How XLA compares values of a type if the text does not say.
absl::string_view DefaultComparisonType(ElementType type) {
  if (IsFloating(type) || IsComplex(type)) return "FLOAT";
  if (IsSignedIntegral(type)) return "SIGNED";
  return "UNSIGNED";
}

// Results that XLA's parser wants to be told although they follow from the operands.
bool NeedsShape(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kCopyDone:
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kFusion:
    case HloOpcode::kOutfeed:
    case HloOpcode::kReducePrecision:
    case HloOpcode::kSend:
    case HloOpcode::kSendDone:
    case HloOpcode::kSlice:
      return true;
    default:
      return false;
  }
}

Shape U32Scalar() { return Shape::ArrayWithDefaultLayout(proto::U32, {}); }

}  // namespace

bool TextParser::FinishInstruction(Pending* p) {
  return FinishOperandChecks(p) && FinishAttributes(p) && FinishShape(p);
}

bool TextParser::FinishOperandChecks(Pending* p) {
  const size_t count = p->operands.size();
  const auto rank_of = [p](size_t i) {
    return static_cast<size_t>(p->operands[i]->shape().rank());
  };
  switch (p->f->opcode) {
    case HloOpcode::kReduce:
    case HloOpcode::kReduceWindow:
      if (count % 2 == 0 && count > 0) return true;
      return Fail(p->offset, absl::StrCat("a ", HloOpcodeName(p->f->opcode),
                                          " takes inputs and as many initial values, but has ",
                                          count, " operands"));
    case HloOpcode::kScatter:
      if (count % 2 == 1 && count >= 3) return true;
      return Fail(p->offset,
                  absl::StrCat("a scatter takes an odd number of operands, but has ", count));
    case HloOpcode::kDynamicSlice:
      if (count == 0) return Fail(p->offset, "a dynamic-slice takes at least one operand");
      if ((count == 2 && rank_of(1) == 1) || count == 1 + rank_of(0)) return true;
      return Fail(p->offset, absl::StrCat("this dynamic-slice takes ", 1 + rank_of(0),
                                          " operands, but has ", count));
    case HloOpcode::kDynamicUpdateSlice:
      if (count < 2) return Fail(p->offset, "a dynamic-update-slice takes at least two operands");
      if ((count == 3 && rank_of(2) == 1) || count == 2 + rank_of(0)) return true;
      return Fail(p->offset, absl::StrCat("this dynamic-update-slice takes ", 2 + rank_of(0),
                                          " operands, but has ", count));
    case HloOpcode::kCollectivePermute:
    case HloOpcode::kCollectivePermuteStart:
      if (!p->seen.Has(Attribute::kSliceSizes) || count == 4) return true;
      return Fail(p->offset, "with slice_sizes a collective-permute takes four operands");
    case HloOpcode::kDynamicReshape:
    case HloOpcode::kMap:
    case HloOpcode::kConcatenate:
    case HloOpcode::kSort:
      if (count > 0) return true;
      return Fail(p->offset, absl::StrCat(HloOpcodeName(p->f->opcode), " needs operands"));
    default:
      return true;
  }
}

void TextParser::DefaultPrecision(Pending* p, size_t operands) {
  if (p->seen.Has(Attribute::kOperandPrecision)) return;
  proto::PrecisionConfig* config = AttributesOf(p)->mutable_precision_config();
  for (size_t i = 0; i < operands; ++i) {
    config->add_operand_precision(proto::PrecisionConfig::DEFAULT);
  }
}

bool TextParser::FinishAttributes(Pending* p) {
  ModuleBuilder::Instruction& f = *p->f;
  if (RuleOf(f.opcode).allowed.Has(Attribute::kReplicaGroups) && f.opcode != HloOpcode::kUnknown &&
      !FinishCollective(p)) {
    return false;
  }
  const auto one_dimension = [&] {
    if (f.dimensions.size() == 1) return true;
    return Fail(p->attributes_offset,
                absl::StrCat(HloOpcodeName(f.opcode), " needs exactly one dimension"));
  };
  switch (f.opcode) {
    case HloOpcode::kBroadcast:
      if (p->seen.Has(Attribute::kDimensions) || p->operands[0]->shape().IsScalar()) return true;
      return Fail(p->attributes_offset, "broadcast needs the attribute dimensions");
    case HloOpcode::kMap: {
      Int64s dimensions;
      for (int64_t i = 0; i < p->operands[0]->shape().rank(); ++i) dimensions.push_back(i);
      f.dimensions = builder_->Copy<int64_t>(dimensions);
      return true;
    }
    case HloOpcode::kGetDimensionSize:
    case HloOpcode::kSetDimensionSize:
    case HloOpcode::kAllGather:
    case HloOpcode::kAllGatherStart:
    case HloOpcode::kReduceScatter:
      // XLA's parser takes the first and leaves the rest.
      if (f.dimensions.size() > 1) f.dimensions = f.dimensions.first(1);
      return one_dimension();
    case HloOpcode::kSort:
    case HloOpcode::kConcatenate:
      return one_dimension();
    case HloOpcode::kAllToAll:
      return !p->seen.Has(Attribute::kDimensions) || one_dimension();
    case HloOpcode::kRaggedAllToAll:
      if (p->seen.Has(Attribute::kDimensions) && !one_dimension()) return false;
      f.dimensions = {};
      return true;
    case HloOpcode::kWhile:
      // The text names them in either order; XLA keeps the body first.
      p->computations.push_back(p->condition);
      return true;
    case HloOpcode::kTopK:
      if (!p->seen.Has(Attribute::kLargest)) AttributesOf(p)->set_largest(true);
      return true;
    case HloOpcode::kReduceWindow:
    case HloOpcode::kSelectAndScatter:
      AttributesOf(p)->mutable_window();
      return true;
    case HloOpcode::kConvolution: {
      P* attributes = AttributesOf(p);
      attributes->mutable_window();
      attributes->mutable_sparsity_config();
      if (!p->seen.Has(Attribute::kFeatureGroupCount)) attributes->set_feature_group_count(1);
      if (!p->seen.Has(Attribute::kBatchGroupCount)) attributes->set_batch_group_count(1);
      DefaultPrecision(p, p->operands.size());
      return true;
    }
    case HloOpcode::kDot:
    case HloOpcode::kScaledDot:
      AttributesOf(p)->mutable_dot_dimension_numbers();
      DefaultPrecision(p, 2);
      return true;
    case HloOpcode::kRaggedDot:
      AttributesOf(p)->mutable_ragged_dot_dimension_numbers()->mutable_dot_dimension_numbers();
      DefaultPrecision(p, 2);
      return true;
    case HloOpcode::kCompare:
      if (!p->seen.Has(Attribute::kType)) {
        AttributesOf(p)->set_comparison_type(
            std::string(DefaultComparisonType(p->operands[0]->shape().element_type())));
      }
      return true;
    case HloOpcode::kTriangularSolve:
      AttributesOf(p)->mutable_triangular_solve_options();
      return true;
    case HloOpcode::kCholesky:
      AttributesOf(p)->mutable_cholesky_options();
      return true;
    case HloOpcode::kOutfeed:
      if (!p->seen.Has(Attribute::kOutfeedShape)) {
        p->operands[0]->shape().ToProto(AttributesOf(p)->mutable_outfeed_shape());
      }
      return true;
    case HloOpcode::kSendDone:
    case HloOpcode::kRecvDone:
      return CheckChannel(*p);
    case HloOpcode::kGetTupleElement:
      FinishOrigin(p);
      return true;
    case HloOpcode::kCustomCall:
      return FinishCustomCall(p);
    case HloOpcode::kConditional:
      return FinishConditional(p);
    case HloOpcode::kScan:
      return FinishScan(p);
    default:
      return true;
  }
}

bool TextParser::FinishCollective(Pending* p) {
  P* attributes = AttributesOf(p);
  if (attributes->replica_group_list_case() == P::REPLICA_GROUP_LIST_NOT_SET) {
    attributes->mutable_collective_device_list();
  }
  const bool reduces = RuleOf(p->f->opcode).allowed.Has(Attribute::kMode);
  if (reduces && attributes->use_global_device_ids() && !p->seen.Has(Attribute::kChannelId)) {
    return Fail(p->attributes_offset, "use_global_device_ids=true needs a channel_id");
  }
  return true;
}

// A send-done or recv-done has the channel of its operand.
bool TextParser::CheckChannel(const Pending& p) {
  const HloInstruction& operand = *p.operands[0];
  switch (operand.opcode()) {
    case HloOpcode::kSend:
    case HloOpcode::kSendDone:
    case HloOpcode::kRecv:
    case HloOpcode::kRecvDone:
      break;
    default:
      return true;
  }
  if (p.f->attributes->channel_id() == operand.attributes().channel_id()) return true;
  return Fail(p.attributes_offset, absl::StrCat("the channel_id differs from that of ",
                                                operand.name(), ", the operand"));
}

// A part of a tuple has the origin of what was put there.
void TextParser::FinishOrigin(Pending* p) {
  const HloInstruction& tuple = *p->operands[0];
  if (p->seen.Has(Attribute::kOrigin) || tuple.opcode() != HloOpcode::kTuple) return;
  if (p->f->index < 0 || p->f->index >= tuple.operand_count()) return;
  const P& part = tuple.operand(p->f->index).attributes();
  if (!part.has_original_value()) return;
  *AttributesOf(p)->mutable_original_value() = part.original_value();
}

bool TextParser::FinishCustomCall(Pending* p) {
  P* attributes = AttributesOf(p);
  if (p->seen.Has(Attribute::kToApply) && p->seen.Has(Attribute::kCalledComputations)) {
    return Fail(p->attributes_offset, "to_apply and called_computations exclude each other");
  }
  if (p->seen.Has(Attribute::kOperandLayoutConstraints)) {
    const auto& constraints = attributes->operand_shapes_with_layout();
    if (p->operands.size() != static_cast<size_t>(constraints.size())) {
      return Fail(p->attributes_offset,
                  absl::StrCat("the custom-call has ", p->operands.size(), " operands, but ",
                               constraints.size(), " operand_layout_constraints"));
    }
    for (size_t i = 0; i < p->operands.size(); ++i) {
      const Shape constraint = Shape::FromProto(constraints.Get(static_cast<int>(i)));
      if (constraint.IsCompatible(p->operands[i]->shape())) continue;
      return Fail(p->attributes_offset,
                  absl::StrCat("operand ", i, " is ", p->operands[i]->shape().ToString(false),
                               ", but its layout constraint is ", constraint.ToString(false)));
    }
    attributes->set_constrain_layout(true);
  }
  if (!p->seen.Has(Attribute::kFeatureGroupCount)) attributes->set_feature_group_count(1);
  if (!p->seen.Has(Attribute::kBatchGroupCount)) attributes->set_batch_group_count(1);
  if (!p->seen.Has(Attribute::kApiVersion)) {
    attributes->set_custom_call_api_version(proto::API_VERSION_ORIGINAL);
  }
  DefaultPrecision(p, p->operands.size());
  return true;
}

bool TextParser::FinishConditional(Pending* p) {
  if (p->operands.empty() || !p->operands[0]->shape().IsScalar()) {
    return Fail(p->offset, "the first operand of a conditional must be a scalar");
  }
  const ElementType type = p->operands[0]->shape().element_type();
  if (type != proto::PRED && type != proto::S32) {
    return Fail(p->offset, "the first operand of a conditional must be pred[] or s32[]");
  }
  AttributeSet wanted{Attribute::kBranchComputations};
  if (type == proto::PRED) wanted = {Attribute::kTrueComputation, Attribute::kFalseComputation};
  for (const Attribute attribute : {Attribute::kTrueComputation, Attribute::kFalseComputation,
                                    Attribute::kBranchComputations}) {
    if (wanted.Has(attribute) == p->seen.Has(attribute)) continue;
    return Fail(p->attributes_offset,
                absl::StrCat("a conditional on ", ElementTypeName(type), "[] ",
                             wanted.Has(attribute) ? "needs" : "has no", " attribute ",
                             AttributeName(attribute)));
  }
  if (type == proto::PRED) p->computations.push_back(p->condition);
  if (p->computations.empty() || p->operands.size() != p->computations.size() + 1) {
    return Fail(p->attributes_offset,
                absl::StrCat("the conditional has ", p->computations.size(), " branches, but ",
                             p->operands.size() - 1, " operands for them"));
  }
  return true;
}

bool TextParser::FinishScan(Pending* p) {
  P* attributes = AttributesOf(p);
  if (p->f->dimensions.empty()) {
    return Fail(p->attributes_offset, "scan needs at least one dimension");
  }
  p->f->dimensions = p->f->dimensions.first(1);
  const int64_t carries = attributes->num_carries();
  const int64_t operands = static_cast<int64_t>(p->operands.size());
  if (carries < 0 || carries > operands) {
    return Fail(p->attributes_offset, absl::StrCat("num_carries is ", carries,
                                                   ", but the scan has ", operands, " operands"));
  }
  const size_t parameters = p->computations[0]->parameters().size();
  if (p->operands.size() != parameters) {
    return Fail(p->offset, absl::StrCat("the computation of the scan takes ", parameters,
                                        " parameters, but the scan has ", operands, " operands"));
  }
  if (!p->seen.Has(Attribute::kIsAssociative)) {
    attributes->set_is_associative(proto::TRI_STATE_FALSE);
  }
  return true;
}

bool TextParser::FinishShape(Pending* p) {
  ModuleBuilder::Instruction& f = *p->f;
  if (!p->has_shape && NeedsShape(f.opcode)) {
    return Fail(p->offset, absl::StrCat(HloOpcodeName(f.opcode), " needs a shape before it"));
  }
  switch (f.opcode) {
    case HloOpcode::kParameter:
    case HloOpcode::kConstant:
      return true;
    case HloOpcode::kAfterAll:
    case HloOpcode::kOutfeed:
    case HloOpcode::kSendDone:
      f.shape = builder_->Intern(Shape::Token());
      return true;
    case HloOpcode::kOptBarrier:
      if (!p->has_shape) return Fail(p->offset, "opt-barrier needs a shape before it");
      return true;
    case HloOpcode::kWhile:
      return p->has_shape || InferWhile(p);
    case HloOpcode::kDomain:
      if (!p->has_shape) f.shape = &p->operands[0]->shape();
      return true;
    case HloOpcode::kAddDependency:
      f.shape = &p->operands[0]->shape();
      return true;
    case HloOpcode::kPartitionId:
    case HloOpcode::kReplicaId:
      if (!p->has_shape) f.shape = builder_->Intern(U32Scalar());
      if (f.shape->IsScalar() && f.shape->element_type() == proto::U32) return true;
      return Fail(p->offset, absl::StrCat(HloOpcodeName(f.opcode), " gives u32[], not ",
                                          f.shape->ToString(false)));
    case HloOpcode::kSend:
    case HloOpcode::kRecv:
    case HloOpcode::kRecvDone:
    case HloOpcode::kInfeed:
      return FinishChannelShape(p);
    default:
      return p->has_shape || InferResult(p);
  }
}

bool TextParser::InferWhile(Pending* p) {
  const Shape& init = p->operands[0]->shape();
  p->f->shape = &init;
  for (const HloComputation* computation : p->computations) {
    const auto& parameters = computation->parameters();
    if (parameters.size() == 1 && parameters[0]->shape().IsCompatible(init)) continue;
    return Fail(p->offset, absl::StrCat("a while over ", init.ToString(false), ", but ",
                                        computation->name(), " does not take that alone"));
  }
  const Shape& body = p->computations[0]->root().shape();
  const Shape& condition = p->computations[1]->root().shape();
  if (!body.IsCompatible(init)) {
    return Fail(p->offset, absl::StrCat("a while over ", init.ToString(false),
                                        ", but its body returns ", body.ToString(false)));
  }
  if (condition.IsScalar() && condition.element_type() == proto::PRED) return true;
  return Fail(p->offset, absl::StrCat("the condition of a while returns pred[], not ",
                                      condition.ToString(false)));
}

// Results that XLA builds from a part of what the text says.
bool TextParser::FinishChannelShape(Pending* p) {
  ModuleBuilder::Instruction& f = *p->f;
  const auto first_part = [](const Shape& shape) {
    return shape.IsTuple() && !shape.tuple_shapes().empty() ? &shape.tuple_shapes(0) : nullptr;
  };
  if (f.opcode == HloOpcode::kSend) {
    f.shape =
        builder_->Intern(Shape::Tuple({p->operands[0]->shape(), U32Scalar(), Shape::Token()}));
    return true;
  }
  const bool done = f.opcode == HloOpcode::kRecvDone;
  if (!done && !p->has_shape) {
    return Fail(p->offset, absl::StrCat(HloOpcodeName(f.opcode), " needs a shape before it"));
  }
  const Shape* data = first_part(done ? p->operands[0]->shape() : *f.shape);
  if (data == nullptr) {
    return Fail(p->offset, absl::StrCat("the ", done ? "operand" : "result", " of ",
                                        HloOpcodeName(f.opcode), " must be a tuple with parts"));
  }
  if (f.opcode == HloOpcode::kRecv) {
    f.shape = builder_->Intern(Shape::Tuple({*data, U32Scalar(), Shape::Token()}));
  } else {
    f.shape = builder_->Intern(Shape::Tuple({*data, Shape::Token()}));
  }
  return true;
}

}  // namespace autotune
