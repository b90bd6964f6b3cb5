// Values of a buffer type, `b(f32[4])`: memory that operations write in place. Who may use them,
// and that a buffer has one writer.

#include <map>
#include <utility>
#include <vector>

#include "hlo/computation.h"
#include "hlo/shape_rules.h"
#include "hlo/verifier_rules.h"

namespace autotune::verifier_rules {
namespace {

using shape_rules::Invalid;
using Index = std::vector<int64_t>;

bool HasBuffer(const Shape& shape) {
  if (shape.IsBuffer()) return true;
  for (const Shape& part : shape.tuple_shapes()) {
    if (HasBuffer(part)) return true;
  }
  return false;
}

// Calls `visit` with the index of each buffer in the shape.
template <typename Visit>
absl::Status ForEachBuffer(const Shape& shape, Index* index, const Visit& visit) {
  if (shape.IsBuffer()) return visit(*index);
  for (size_t i = 0; i < shape.tuple_shapes().size(); ++i) {
    index->push_back(static_cast<int64_t>(i));
    AUTOTUNE_RETURN_IF_ERROR(ForEachBuffer(shape.tuple_shapes()[i], index, visit));
    index->pop_back();
  }
  return absl::OkStatus();
}

bool IsBodyOfALoop(const HloComputation& computation) {
  for (const HloInstruction* caller : computation.callers()) {
    if (caller->opcode() == HloOpcode::kWhile) return true;
  }
  return false;
}

// A part of a value, followed through tuples to those who write it.
struct Part {
  const HloInstruction* value;
  Index index;
};

// What one user of the part does: returns 1 if it writes; parts that it passes on go to *next.
int WritesOf(const HloInstruction& user, const Part& part, std::vector<Part>* next) {
  switch (user.opcode()) {
    case HloOpcode::kAsyncStart:
    case HloOpcode::kCall:
    case HloOpcode::kConditional:
    case HloOpcode::kCustomCall:
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kFusion:
    case HloOpcode::kWhile:
      return 1;
    case HloOpcode::kGetTupleElement:
      if (!part.index.empty() && user.tuple_index() == part.index[0]) {
        next->push_back({&user, Index(part.index.begin() + 1, part.index.end())});
      }
      return 0;
    case HloOpcode::kTuple: {
      if (user.IsRoot()) return IsBodyOfALoop(user.parent()) ? 1 : 0;
      Index index = {0};
      while (&user.operand(index[0]) != part.value) ++index[0];
      index.insert(index.end(), part.index.begin(), part.index.end());
      next->push_back({&user, std::move(index)});
      return 0;
    }
    default:
      return 0;
  }
}

// At most one user writes the buffer. A chain of tuples and elements longer than this is not
// followed further, so that no program takes long.
absl::Status CheckOneWriter(const HloInstruction& instruction, const Index& index) {
  constexpr int kMostParts = 1000;
  std::vector<Part> parts = {{&instruction, index}};
  int writers = 0;
  for (int i = 0; i < kMostParts && !parts.empty(); ++i) {
    const Part part = std::move(parts.back());
    parts.pop_back();
    for (const HloInstruction* user : part.value->users()) {
      writers += WritesOf(*user, part, &parts);
      if (writers > 1) return Invalid("a buffer has more than one writer");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOneWriterEach(const HloInstruction& instruction) {
  Index index;
  return ForEachBuffer(instruction.shape(), &index,
                       [&](const Index& at) { return CheckOneWriter(instruction, at); });
}

// Pin puts an array into a buffer, Unpin takes it out.
absl::Status CheckPin(const HloInstruction& call, const Shape* array, const Shape* buffer) {
  const auto& target = call.attributes().custom_call_target();
  const bool fits = array != nullptr && buffer != nullptr && array->IsArray() &&
                    buffer->IsBuffer() && buffer->tuple_shapes(0).IsCompatible(*array);
  if (!fits) {
    return Invalid(target == "Pin" ? "Pin takes an array and gives a buffer of it"
                                   : "Unpin takes a buffer and gives the array in it");
  }
  if (call.attributes().output_operand_aliasing_size() == 1) return absl::OkStatus();
  return Invalid(target, " needs output_to_operand_aliasing={{}: (0, {})}");
}

// Each buffer among the operands is one of the results, and the other way round.
absl::Status CheckPassedOn(const HloInstruction& call) {
  std::map<std::pair<int64_t, Index>, int> from;
  std::map<Index, int> to;
  for (const auto& alias : call.attributes().output_operand_aliasing()) {
    ++from[{alias.operand_index(),
            Index(alias.operand_shape_index().begin(), alias.operand_shape_index().end())}];
    ++to[Index(alias.output_shape_index().begin(), alias.output_shape_index().end())];
  }
  Index index;
  for (int64_t i = 0; i < call.operand_count(); ++i) {
    AUTOTUNE_RETURN_IF_ERROR(
        ForEachBuffer(call.operand(i).shape(), &index, [&](const Index& at) -> absl::Status {
          const auto found = from.find({i, at});
          if (found != from.end() && found->second == 1) return absl::OkStatus();
          return Invalid("output_to_operand_aliasing must name the buffer in operand ", i,
                         " once, not ", found == from.end() ? 0 : found->second, " times");
        }));
  }
  return ForEachBuffer(call.shape(), &index, [&](const Index& at) -> absl::Status {
    const auto found = to.find(at);
    if (found != to.end() && found->second == 1) return CheckOneWriter(call, at);
    return Invalid("output_to_operand_aliasing must name each buffer in the result once, not ",
                   found == to.end() ? 0 : found->second, " times");
  });
}

absl::Status CheckCustomCall(const HloInstruction& call) {
  const auto& target = call.attributes().custom_call_target();
  const Shape* operand = call.operand_count() == 1 ? &call.operand(0).shape() : nullptr;
  if (target == "Pin") {
    AUTOTUNE_RETURN_IF_ERROR(CheckPin(call, operand, &call.shape()));
    return CheckOneWriter(call, {});
  }
  if (target == "Unpin") return CheckPin(call, &call.shape(), operand);
  if (target == "CreateBuffer") {
    if (call.operand_count() == 0 && call.shape().IsBuffer()) return CheckOneWriter(call, {});
    return Invalid("CreateBuffer takes nothing and gives a buffer");
  }
  return CheckPassedOn(call);
}

absl::Status CheckNoBuffers(const HloInstruction& instruction) {
  bool found = HasBuffer(instruction.shape());
  for (const HloInstruction* operand : instruction.operands()) {
    found |= HasBuffer(operand->shape());
  }
  if (!found) return absl::OkStatus();
  return Invalid(instruction.opcode_name(), " does not work on buffers");
}

absl::Status CheckUpdate(const HloInstruction& update) {
  if (update.operand_count() == 0 || !update.operand(0).shape().IsBuffer()) {
    return CheckNoBuffers(update);
  }
  AUTOTUNE_RETURN_IF_ERROR(CheckOneWriterEach(update));
  for (int64_t i = 1; i < update.operand_count(); ++i) {
    if (HasBuffer(update.operand(i).shape())) return CheckNoBuffers(update);
  }
  if (update.shape().IsBuffer()) return absl::OkStatus();
  return Invalid("the update of a buffer gives a buffer, not ", update.shape().ToString(false));
}

bool IsWrapped(const HloComputation& computation) {
  for (const HloInstruction* caller : computation.callers()) {
    if (caller->opcode() == HloOpcode::kAsyncStart) return true;
  }
  return false;
}

}  // namespace

absl::Status CheckBuffers(const HloInstruction& instruction) {
  if (IsWrapped(instruction.parent()) &&
      !(instruction.IsRoot() && instruction.opcode() == HloOpcode::kCustomCall)) {
    return absl::OkStatus();
  }
  switch (instruction.opcode()) {
    case HloOpcode::kAsyncStart:
    case HloOpcode::kAsyncUpdate:
    case HloOpcode::kAsyncDone:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kTuple:
      return absl::OkStatus();
    case HloOpcode::kCall:
      if (instruction.attributes().frontend_attributes().map().contains("_xla_stream_annotation")) {
        return absl::OkStatus();
      }
      return CheckNoBuffers(instruction);
    case HloOpcode::kCustomCall:
      return CheckCustomCall(instruction);
    case HloOpcode::kWhile:
      return CheckOneWriterEach(instruction);
    case HloOpcode::kParameter:
      if (instruction.parent().IsEntry()) return CheckNoBuffers(instruction);
      return CheckOneWriterEach(instruction);
    case HloOpcode::kDynamicUpdateSlice:
      return CheckUpdate(instruction);
    default:
      return CheckNoBuffers(instruction);
  }
}

}  // namespace autotune::verifier_rules
