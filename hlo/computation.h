#ifndef AUTOTUNE_HLO_COMPUTATION_H_
#define AUTOTUNE_HLO_COMPUTATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlo/instruction.h"
#include "proto/hlo.pb.h"

namespace autotune {

class HloModule;

// A function of a module: instructions in an order in which operands come before their users.
// Immutable once its module is built, and owned by it. Thread-safe to read.
class HloComputation {
 public:
  int64_t id() const { return f_.id; }
  // Unique in the module, without `%`.
  absl::string_view name() const { return f_.name; }
  // In the order of the text or protobuf; in a scheduled module that is the schedule.
  absl::Span<const HloInstruction* const> instructions() const { return f_.instructions; }
  // What the computation returns.
  const HloInstruction& root() const { return *f_.root; }
  // By parameter number.
  absl::Span<const HloInstruction* const> parameters() const { return f_.parameters; }
  const HloModule& module() const { return *f_.module; }
  bool IsEntry() const;
  // True if a fusion instruction calls it.
  bool IsFusionComputation() const { return f_.is_fusion; }
  // "main", or the name of a parallel thread.
  absl::string_view execution_thread() const { return f_.execution_thread; }
  // The instructions that call this computation, in module order.
  absl::Span<const HloInstruction* const> callers() const { return f_.callers; }

  // The instruction of that name, or null. Linear in the number of instructions.
  const HloInstruction* FindInstruction(absl::string_view name) const;

  // The order in which XLA writes instructions to a protobuf: depth first from those that nothing
  // uses, each after what it needs.
  std::vector<const HloInstruction*> PostOrder() const;

  // Line of the text where it begins, 1-based; 0 if it was not read from text.
  int32_t line() const { return f_.line; }

  // Fields of the protobuf that have no accessor above, unknown ones included.
  const proto::HloComputationProto& attributes() const { return *f_.attributes; }

  // Parameters' shapes and names, and the result's shape.
  void ProgramShapeToProto(proto::ProgramShapeProto* proto) const;
  // Writes the whole computation. REQUIRES: *proto is empty.
  void ToProto(proto::HloComputationProto* proto) const;

 private:
  friend class ModuleBuilder;

  struct Fields {
    int64_t id = 0;
    absl::string_view name;
    absl::string_view execution_thread = "main";
    const HloModule* module = nullptr;
    const HloInstruction* root = nullptr;
    const proto::HloComputationProto* attributes = nullptr;
    std::vector<const HloInstruction*> instructions;
    std::vector<const HloInstruction*> parameters;
    std::vector<const HloInstruction*> callers;
    int32_t line = 0;
    bool is_fusion = false;
  };

  Fields f_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HLO_COMPUTATION_H_
