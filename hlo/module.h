#ifndef AUTOTUNE_HLO_MODULE_H_
#define AUTOTUNE_HLO_MODULE_H_

#include <google/protobuf/arena.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/node_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlo/computation.h"
#include "hlo/instruction.h"
#include "hlo/shape.h"
#include "proto/hlo.pb.h"

namespace autotune {

// A program in HLO. Immutable once built, thread-safe to read, and the owner of all its
// computations, instructions, shapes and text. To change a program, edit its protobuf form:
//
//   proto::HloModuleProto proto = module.ToProto();
//   ... edit ...
//   absl::StatusOr<std::unique_ptr<HloModule>> edited = HloModule::FromProto(proto);
//
// Modules are made by FromProto, by ParseHloText (hlo/parser.h) and by ReadModuleFile
// (hlo/read_module.h). All guarantee that names resolve, that operands come before their users,
// that there is one root for each computation, and that no computation calls itself. What goes
// beyond (shapes, operand counts, attribute ranges) is the verifier's.
class HloModule {
 public:
  HloModule(const HloModule&) = delete;
  HloModule& operator=(const HloModule&) = delete;
  ~HloModule();

  // Reads the protobuf form. Fails with InvalidArgument, naming the computation and instruction, on
  // unknown ids, missing roots, an entry that is not there, and opcodes that are not known unless
  // `keep_unknown`.
  static absl::StatusOr<std::unique_ptr<HloModule>> FromProto(const proto::HloModuleProto& proto,
                                                              bool keep_unknown = false);
  // Reads the protobuf form that `parse` puts into the arena it is given, which becomes the
  // module's: nothing is copied. Errors of `parse` are passed on.
  static absl::StatusOr<std::unique_ptr<HloModule>> FromArena(
      absl::FunctionRef<absl::StatusOr<proto::HloModuleProto*>(google::protobuf::Arena*)> parse,
      bool keep_unknown = false);

  absl::string_view name() const { return name_; }
  // Callees before their callers; the entry computation is not always the last.
  absl::Span<const HloComputation* const> computations() const { return computations_; }
  const HloComputation& entry_computation() const { return *entry_; }
  // The first instruction of that name, or null. Linear in the size of the module.
  const HloInstruction* FindInstruction(absl::string_view name) const;

  // True if the order of instructions is a schedule (`is_scheduled=true`).
  bool is_scheduled() const { return attributes_->has_schedule(); }
  // The signature of the entry with the layouts that the caller uses (`entry_computation_layout`).
  const proto::ProgramShapeProto& entry_computation_layout() const {
    return attributes_->host_program_shape();
  }
  // Everything else at module level (aliasing, donors, shardings, stack frames, frontend
  // attributes, unknown fields): the protobuf without its computations.
  const proto::HloModuleProto& attributes() const { return *attributes_; }
  // What the text header says and the protobuf has no field for: replica and partition counts.
  int64_t replica_count() const { return replica_count_; }
  int64_t num_partitions() const { return num_partitions_; }
  // Other header attributes without a protobuf field, as they stand in the text
  // ("alias_passthrough_params", "true").
  const std::vector<std::pair<absl::string_view, absl::string_view>>& text_attributes() const {
    return text_attributes_;
  }

  int64_t instruction_count() const { return instruction_count_; }
  // The number of constants whose value was elided (`constant({...})`): results that depend on
  // values are then meaningless, shapes and costs are not.
  int64_t elided_constant_count() const { return elided_constant_count_; }

  // The whole module in protobuf form, as XLA would write it.
  proto::HloModuleProto ToProto() const;
  // The same into an empty message, which may live in an arena.
  void ToProto(proto::HloModuleProto* proto) const;

  // Text form with all details (see hlo/printer.h for options).
  std::string ToString() const;

 private:
  friend class ModuleBuilder;
  HloModule();

  google::protobuf::Arena arena_;
  // The text that was parsed: names and strings point into it. Empty for a module from a protobuf.
  std::string text_;
  absl::node_hash_set<Shape> shapes_;
  std::deque<HloComputation> computation_storage_;
  std::vector<const HloComputation*> computations_;
  const HloComputation* entry_ = nullptr;
  absl::string_view name_;
  const proto::HloModuleProto* attributes_ = nullptr;
  int64_t replica_count_ = 1;
  int64_t num_partitions_ = 1;
  std::vector<std::pair<absl::string_view, absl::string_view>> text_attributes_;
  int64_t instruction_count_ = 0;
  int64_t elided_constant_count_ = 0;
};

}  // namespace autotune

#endif  // AUTOTUNE_HLO_MODULE_H_
