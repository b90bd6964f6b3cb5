#include "hlo/kernel_hash.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/base/casts.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "hlo/fingerprint.h"

namespace autotune {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Proto = proto::HloInstructionProto;
using Callees = absl::flat_hash_map<const HloComputation*, uint64_t>;

template <typename Container>
void AddInts(const Container& values, Fingerprinter* out) {
  out->AddInt(values.size());
  for (const auto value : values) out->AddInt(static_cast<uint64_t>(value));
}

void AddLayout(const Layout& layout, Fingerprinter* out) {
  AddInts(layout.minor_to_major, out);
  out->AddInt(layout.tiles.size());
  for (const Tile& tile : layout.tiles) AddInts(tile.dimensions, out);
  out->AddInt(layout.split_configs.size());
  for (const SplitConfig& split : layout.split_configs) {
    out->AddInt(static_cast<uint64_t>(split.dimension));
    AddInts(split.split_indices, out);
  }
  // Writers put 0 or 1 for "no padding".
  out->AddInt(
      static_cast<uint64_t>(std::max<int64_t>(layout.tail_padding_alignment_in_elements, 1)));
  out->AddInt(static_cast<uint64_t>(layout.element_size_in_bits));
  out->AddInt(static_cast<uint64_t>(layout.memory_space));
}

// Shapes nest at most Shape::kMaxNesting deep.
void AddShape(const Shape& shape, Fingerprinter* out) {
  out->AddInt(static_cast<uint64_t>(shape.element_type()));
  out->AddInt(shape.dimensions().size());
  for (int64_t i = 0; i < shape.rank(); ++i) {
    out->AddInt(static_cast<uint64_t>(shape.dimensions(i)));
    out->AddInt(shape.is_dynamic_dimension(i));
  }
  out->AddInt(shape.has_layout());
  if (shape.has_layout()) AddLayout(shape.layout(), out);
  out->AddInt(shape.tuple_shapes().size());
  for (const Shape& part : shape.tuple_shapes()) AddShape(part, out);
}

void AddLiteral(const Literal& literal, Fingerprinter* out) {
  const bool single = literal.shape != nullptr && literal.shape->ElementsIn() == 1;
  if (single && !literal.elided) out->AddText(literal.data);
}

// Writers spell the defaults of a window out or leave them away.
void AddWindow(const proto::Window& window, Fingerprinter* out) {
  out->AddInt(static_cast<uint64_t>(window.dimensions_size()));
  for (const proto::WindowDimension& dimension : window.dimensions()) {
    for (const int64_t value :
         {dimension.size(), std::max<int64_t>(dimension.stride(), 1), dimension.padding_low(),
          dimension.padding_high(), std::max<int64_t>(dimension.window_dilation(), 1),
          std::max<int64_t>(dimension.base_dilation(), 1), int64_t{dimension.window_reversal()}}) {
      out->AddInt(static_cast<uint64_t>(value));
    }
  }
}

bool IsDefaultPrecision(const proto::PrecisionConfig& precision) {
  if (precision.algorithm() != 0) return false;
  for (const int operand : precision.operand_precision()) {
    if (operand != proto::PrecisionConfig::DEFAULT) return false;
  }
  return true;
}

// Fields that are hashed from the instruction's accessors, or not at all (see KernelHasher).
bool IsLeftOut(const Proto& attributes, int number) {
  switch (number) {
    case Proto::kNameFieldNumber:
    case Proto::kOpcodeFieldNumber:
    case Proto::kShapeFieldNumber:
    case Proto::kMetadataFieldNumber:
    case Proto::kLiteralFieldNumber:
    case Proto::kParameterNumberFieldNumber:
    case Proto::kTupleIndexFieldNumber:
    case Proto::kDimensionsFieldNumber:
    case Proto::kChannelIdFieldNumber:
    case Proto::kIdFieldNumber:
    case Proto::kOperandIdsFieldNumber:
    case Proto::kControlPredecessorIdsFieldNumber:
    case Proto::kCalledComputationIdsFieldNumber:
    case Proto::kShardingFieldNumber:
    case Proto::kBackendConfigFieldNumber:
    case Proto::kBackendConfigPayloadFieldNumber:
    case Proto::kAllReduceIdFieldNumber:
    case Proto::kDomainEntryShardingFieldNumber:
    case Proto::kDomainExitShardingFieldNumber:
    case Proto::kParameterReplicationFieldNumber:
    case Proto::kFrontendAttributesFieldNumber:
    case Proto::kOutputOperandAliasingFieldNumber:
    case Proto::kAsyncExecutionThreadFieldNumber:
    case Proto::kCrossProgramPrefetchIndexFieldNumber:
    case Proto::kIsCrossProgramPrefetchFieldNumber:
    case Proto::kStatisticsVizFieldNumber:
    case Proto::kOriginalValueFieldNumber:
    case Proto::kConvKindFieldNumber:
      return true;
    case Proto::kFeatureGroupCountFieldNumber:
      return attributes.feature_group_count() <= 1;
    case Proto::kBatchGroupCountFieldNumber:
      return attributes.batch_group_count() <= 1;
    case Proto::kPrecisionConfigFieldNumber:
      return IsDefaultPrecision(attributes.precision_config());
    case Proto::kComparisonTypeFieldNumber:  // otherwise given by the operands' type
      return !absl::StrContains(attributes.comparison_type(), "TOTALORDER");
    case Proto::kResultAccuracyFieldNumber:
      return attributes.result_accuracy().ByteSizeLong() == 0;
    case Proto::kSparsityConfigFieldNumber:  // newer versions of XLA write an empty one
      return attributes.sparsity_config().ByteSizeLong() == 0;
    default:
      return false;
  }
}

void AddSingularField(const Message& message, const FieldDescriptor& field, Fingerprinter* out) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      out->AddInt(static_cast<uint64_t>(reflection.GetInt32(message, &field)));
      return;
    case FieldDescriptor::CPPTYPE_INT64:
      out->AddInt(static_cast<uint64_t>(reflection.GetInt64(message, &field)));
      return;
    case FieldDescriptor::CPPTYPE_BOOL:
      out->AddInt(reflection.GetBool(message, &field));
      return;
    case FieldDescriptor::CPPTYPE_ENUM:
      out->AddInt(static_cast<uint64_t>(reflection.GetEnumValue(message, &field)));
      return;
    case FieldDescriptor::CPPTYPE_STRING:
      out->AddText(reflection.GetString(message, &field));
      return;
    case FieldDescriptor::CPPTYPE_FLOAT:
      out->AddInt(absl::bit_cast<uint32_t>(reflection.GetFloat(message, &field)));
      return;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      out->AddText(reflection.GetMessage(message, &field).SerializePartialAsString());
      return;
    default:  // HloInstructionProto has no other types
      return;
  }
}

void AddRepeatedField(const Message& message, const FieldDescriptor& field, Fingerprinter* out) {
  const Reflection& reflection = *message.GetReflection();
  const int size = reflection.FieldSize(message, &field);
  out->AddInt(static_cast<uint64_t>(size));
  for (int i = 0; i < size; ++i) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
      out->AddInt(static_cast<uint64_t>(reflection.GetRepeatedInt64(message, &field, i)));
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      out->AddText(reflection.GetRepeatedMessage(message, &field, i).SerializePartialAsString());
    }
  }
}

void AddAttributes(const Proto& attributes, std::vector<const FieldDescriptor*>* fields,
                   Fingerprinter* out) {
  fields->clear();
  attributes.GetReflection()->ListFields(attributes, fields);  // in order of field number
  for (const FieldDescriptor* field : *fields) {
    if (IsLeftOut(attributes, field->number())) continue;
    out->AddInt(static_cast<uint64_t>(field->number()));
    if (field->number() == Proto::kWindowFieldNumber) {
      AddWindow(attributes.window(), out);
    } else if (field->is_repeated()) {
      AddRepeatedField(attributes, *field, out);
    } else {
      AddSingularField(attributes, *field, out);
    }
  }
}

// Everything of an instruction but where its operands come from.
void AddOperation(const HloInstruction& instruction, const Callees& callees,
                  std::vector<const FieldDescriptor*>* fields, Fingerprinter* out) {
  const absl::string_view opcode = instruction.opcode_name();
  out->AddText(opcode);
  AddShape(instruction.shape(), out);
  AddInts(instruction.dimensions(), out);
  out->AddInt(static_cast<uint64_t>(instruction.parameter_number()));
  out->AddInt(static_cast<uint64_t>(instruction.tuple_index()));
  if (instruction.literal() != nullptr) AddLiteral(*instruction.literal(), out);
  AddAttributes(instruction.attributes(), fields, out);
  out->AddInt(instruction.called_computations().size());
  for (const HloComputation* callee : instruction.called_computations()) {
    out->AddInt(callees.at(callee));
  }
}

// Operands before users, from the root; then what the root does not need, in order.
std::vector<const HloInstruction*> CanonicalOrder(const HloComputation& computation) {
  std::vector<const HloInstruction*> order;
  absl::flat_hash_set<const HloInstruction*> seen;
  std::vector<std::pair<const HloInstruction*, int64_t>> stack;
  const auto visit_from = [&](const HloInstruction* start) {
    if (!seen.insert(start).second) return;
    stack.emplace_back(start, 0);
    while (!stack.empty()) {
      auto& [instruction, next] = stack.back();
      if (next == instruction->operand_count()) {
        order.push_back(instruction);
        stack.pop_back();
        continue;
      }
      const HloInstruction* operand = &instruction->operand(next++);
      if (seen.insert(operand).second) stack.emplace_back(operand, 0);
    }
  };
  visit_from(&computation.root());
  for (const HloInstruction* instruction : computation.instructions()) visit_from(instruction);
  return order;
}

uint64_t HashComputation(const HloComputation& computation, const Callees& callees) {
  Fingerprinter out;
  std::vector<const FieldDescriptor*> fields;
  absl::flat_hash_map<const HloInstruction*, uint64_t> numbers;
  const std::vector<const HloInstruction*> order = CanonicalOrder(computation);
  out.AddInt(order.size());
  for (const HloInstruction* instruction : order) {
    AddOperation(*instruction, callees, &fields, &out);
    out.AddInt(static_cast<uint64_t>(instruction->operand_count()));
    for (const HloInstruction* operand : instruction->operands()) {
      out.AddInt(numbers.at(operand));
    }
    numbers.emplace(instruction, numbers.size());
  }
  return out.Get();
}

}  // namespace

KernelHasher::KernelHasher(const HloModule& module) {
  for (const HloComputation* computation : module.computations()) {
    computations_[computation] = HashComputation(*computation, computations_);
  }
}

uint64_t KernelHasher::Operation(const HloInstruction& instruction) const {
  Fingerprinter out;
  std::vector<const FieldDescriptor*> fields;
  AddOperation(instruction, computations_, &fields, &out);
  out.AddInt(static_cast<uint64_t>(instruction.operand_count()));
  for (const HloInstruction* operand : instruction.operands()) AddShape(operand->shape(), &out);
  return out.Get();
}

}  // namespace autotune
