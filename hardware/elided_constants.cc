#include "hardware/elided_constants.h"

#include <string>

#include "hardware/host_array.h"
#include "hlo/opcode.h"

namespace autotune {
namespace {

// The numbers of an array of a type whose literal lists them.
template <typename Field>
void SetNumbers(const HostArray& array, Field* field) {
  field->Clear();
  for (int64_t i = 0; i < array.ElementCount(); ++i) {
    field->Add(static_cast<typename Field::value_type>(array.At(i)));
  }
}

// Writes the elements into the field of the literal that holds its type.
void SetElements(const HostArray& array, proto::LiteralProto* literal) {
  const google::protobuf::Reflection& reflection = *literal->GetReflection();
  switch (array.type) {
    case proto::PRED:
      return SetNumbers(array, literal->mutable_preds());
    case proto::S32:
      return SetNumbers(array, literal->mutable_s32s());
    case proto::U32:
      return SetNumbers(array, literal->mutable_u32s());
    case proto::S64:
      return SetNumbers(array, literal->mutable_s64s());
    case proto::U64:
      return SetNumbers(array, literal->mutable_u64s());
    case proto::F32:
      return SetNumbers(array, literal->mutable_f32s());
    case proto::F64:
      return SetNumbers(array, literal->mutable_f64s());
    case proto::C64:
    case proto::C128: {
      // Real and imaginary parts in turn.
      HostArray parts = array;
      parts.type = array.type == proto::C64 ? proto::F32 : proto::F64;
      parts.dimensions = {2 * array.ElementCount()};
      if (array.type == proto::C64) return SetNumbers(parts, literal->mutable_c64s());
      return SetNumbers(parts, literal->mutable_c128s());
    }
    default:
      break;
  }
  // Narrow types are bytes, in a field that is named after the type.
  const std::string name = std::string(ElementTypeName(array.type)) + "s";
  const auto* field = proto::LiteralProto::descriptor()->FindFieldByName(name);
  if (field != nullptr) reflection.SetString(literal, field, array.bytes);
}

// Returns the number of arrays filled.
int64_t Fill(proto::LiteralProto* literal, uint64_t seed) {
  if (literal->shape().element_type() == proto::TUPLE) {
    int64_t filled = 0;
    for (auto& part : *literal->mutable_tuple_literals()) {
      filled += Fill(&part, seed == 0 ? 0 : seed + static_cast<uint64_t>(filled));
    }
    return filled;
  }
  // What holds data is longer than its shape.
  proto::LiteralProto without_data;
  *without_data.mutable_shape() = literal->shape();
  const Shape shape = Shape::FromProto(literal->shape());
  if (!shape.IsArray() || literal->ByteSizeLong() > without_data.ByteSizeLong()) return 0;
  SetElements(seed == 0 ? ZeroArray(shape) : RandomArray(shape, /*limit=*/0, seed), literal);
  return 1;
}

}  // namespace

int64_t FillElidedConstants(proto::HloModuleProto* program, uint64_t seed) {
  int64_t filled = 0;
  for (auto& computation : *program->mutable_computations()) {
    for (auto& instruction : *computation.mutable_instructions()) {
      if (instruction.opcode() != HloOpcodeName(HloOpcode::kConstant)) continue;
      filled +=
          Fill(instruction.mutable_literal(), seed == 0 ? 0 : seed + static_cast<uint64_t>(filled));
    }
  }
  return filled;
}

}  // namespace autotune
