#ifndef AUTOTUNE_HLO_INSTRUCTION_H_
#define AUTOTUNE_HLO_INSTRUCTION_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlo/literal.h"
#include "hlo/opcode.h"
#include "hlo/shape.h"
#include "proto/hlo.pb.h"

namespace autotune {

class HloComputation;

// Where an operation came from: the common part of proto::OpMetadata. Text belongs to the module.
struct OpMetadata {
  absl::string_view op_type;
  absl::string_view op_name;
  absl::string_view source_file;
  int32_t source_line = 0;
  int32_t source_end_line = 0;
  int32_t source_column = 0;
  int32_t source_end_column = 0;
  // 1-based index into the module's stack frames, 0 for none.
  int32_t stack_frame_id = 0;
  // The whole message where it holds more than the fields above, else null.
  const proto::OpMetadata* full = nullptr;
};

// One operation of a computation. Immutable once its module is built; owned by the module, as is
// everything that it points to. Thread-safe to read.
class HloInstruction {
 public:
  // Unique in its computation at least, and in the module for modules read from text.
  int64_t id() const { return f_.id; }
  // Unique in its module, without `%`.
  absl::string_view name() const { return f_.name; }
  HloOpcode opcode() const { return f_.opcode; }
  // The opcode's name; for HloOpcode::kUnknown the name as it was read.
  absl::string_view opcode_name() const;
  // One object for all equal shapes of the module.
  const Shape& shape() const { return *f_.shape; }

  absl::Span<const HloInstruction* const> operands() const { return f_.operands; }
  int64_t operand_count() const { return static_cast<int64_t>(f_.operands.size()); }
  // REQUIRES: 0 <= i < operand_count().
  const HloInstruction& operand(int64_t i) const { return *f_.operands[static_cast<size_t>(i)]; }
  // Instructions that have this one as an operand, each once, in the computation's order.
  absl::Span<const HloInstruction* const> users() const { return f_.users; }
  // Instructions that have to run before this one although it does not use their results.
  absl::Span<const HloInstruction* const> control_predecessors() const {
    return f_.control_predecessors;
  }
  // Fusion bodies, reducers, loop bodies and conditions, branches, in the protobuf's order (for a
  // while: body, then condition).
  absl::Span<const HloComputation* const> called_computations() const {
    return f_.called_computations;
  }
  const HloComputation& parent() const { return *f_.parent; }
  bool IsRoot() const;
  // Its index in parent().instructions().
  size_t position() const { return f_.position; }

  // The `dimensions` of broadcast, concatenate, iota, map, reduce, reverse, sort, transpose, ...
  absl::Span<const int64_t> dimensions() const { return f_.dimensions; }
  // Of a parameter.
  int64_t parameter_number() const { return f_.opcode == HloOpcode::kParameter ? f_.index : 0; }
  // Of a get-tuple-element.
  int64_t tuple_index() const { return f_.opcode == HloOpcode::kGetTupleElement ? f_.index : 0; }

  // Of a constant; null otherwise.
  const Literal* literal() const { return f_.literal; }
  // True for a constant whose value, or a part of it, was elided.
  bool has_elided_literal() const { return f_.literal != nullptr && f_.literal->HasElided(); }

  bool has_metadata() const { return f_.metadata != nullptr; }
  // Empty if there is none.
  const OpMetadata& metadata() const;
  // Opaque to everyone but the backend; for TPU it is JSON. Empty if there is none.
  absl::string_view backend_config() const { return f_.backend_config; }

  // Every other attribute: window, dimension numbers, sharding, fusion kind, comparison direction,
  // replica groups, frontend attributes, ... as the wire schema has them. What has an accessor
  // above may or may not be present here as well: use the accessor.
  const proto::HloInstructionProto& attributes() const { return *f_.attributes; }

  // Line of the text that it was read from, 1-based; 0 if it was not read from text.
  int32_t line() const { return f_.line; }

  // Writes the whole instruction. REQUIRES: *proto is empty.
  void ToProto(proto::HloInstructionProto* proto) const;

  // Text form as one line (see hlo/printer.h for options).
  std::string ToString() const;

 private:
  friend class ModuleBuilder;

  // What ModuleBuilder fills in. All arrays lie in the module's arena.
  struct Fields {
    int64_t id = 0;
    absl::string_view name;
    const Shape* shape = nullptr;
    const HloComputation* parent = nullptr;
    const proto::HloInstructionProto* attributes = nullptr;
    absl::Span<const HloInstruction* const> operands;
    absl::Span<const HloInstruction* const> users;
    absl::Span<const HloInstruction* const> control_predecessors;
    absl::Span<const HloComputation* const> called_computations;
    absl::Span<const int64_t> dimensions;
    absl::string_view backend_config;
    const Literal* literal = nullptr;
    const OpMetadata* metadata = nullptr;
    // The parameter number or the tuple index.
    int64_t index = 0;
    int32_t line = 0;
    // Position in the computation.
    uint32_t position = 0;
    HloOpcode opcode = HloOpcode::kUnknown;
  };

  Fields f_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HLO_INSTRUCTION_H_
