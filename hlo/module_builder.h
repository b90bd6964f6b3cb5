#ifndef AUTOTUNE_HLO_MODULE_BUILDER_H_
#define AUTOTUNE_HLO_MODULE_BUILDER_H_

#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlo/module.h"

namespace autotune {

// Puts a module together; used by the readers of text and protobuf, which check what they read. Not
// thread-safe.
class ModuleBuilder {
 public:
  using Instruction = HloInstruction::Fields;
  using Computation = HloComputation::Fields;

  // The module takes `text` over: views into text() may be stored in the module.
  explicit ModuleBuilder(std::string text = "");

  absl::string_view text() const { return module_->text_; }
  google::protobuf::Arena* arena() { return &module_->arena_; }

  // The module's one object that equals `shape`.
  const Shape* Intern(Shape shape);

  // Copies into the module's arena.
  absl::string_view Copy(absl::string_view text);
  template <typename T>
  absl::Span<const T> Copy(absl::Span<const T> values) {
    if (values.empty()) return {};
    T* copy = NewArray<T>(values.size());
    std::memcpy(static_cast<void*>(copy), values.data(), values.size() * sizeof(T));
    return {copy, values.size()};
  }
  // An array in the module's arena, not initialised.
  template <typename T>
  T* NewArray(size_t size) {
    static_assert(std::is_trivially_destructible_v<T>);
    return reinterpret_cast<T*>(AllocateBytes(size * sizeof(T)));
  }
  // A value in the module's arena.
  template <typename T>
  T* New() {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (AllocateBytes(sizeof(T))) T();
  }
  // An empty message in the module's arena.
  template <typename Message>
  Message* NewMessage() {
    return google::protobuf::Arena::CreateMessage<Message>(arena());
  }

  // A computation; its place in the module is set by SetComputations.
  HloComputation* NewComputation();
  // An instruction; its place is that in Computation::instructions.
  HloInstruction* NewInstruction();

  static Instruction& Edit(HloInstruction* instruction) { return instruction->f_; }
  static Computation& Edit(HloComputation* computation) { return computation->f_; }

  void set_name(absl::string_view name) { module_->name_ = name; }
  // Must live in the module's arena and hold no computations.
  void set_attributes(const proto::HloModuleProto* attributes) {
    module_->attributes_ = attributes;
  }
  void set_entry(const HloComputation* entry) { module_->entry_ = entry; }
  void set_replica_count(int64_t count) { module_->replica_count_ = count; }
  void set_num_partitions(int64_t count) { module_->num_partitions_ = count; }
  void add_text_attribute(absl::string_view name, absl::string_view value) {
    module_->text_attributes_.emplace_back(name, value);
  }
  // The module's computations in order.
  void set_computations(std::vector<const HloComputation*> computations) {
    module_->computations_ = std::move(computations);
  }

  // Fills in what follows from the rest (users, callers, positions, counts) and hands the module
  // out. REQUIRES: name, attributes, entry and computations are set; every computation has a root;
  // operands are of the same computation.
  std::unique_ptr<HloModule> Finish();

 private:
  char* AllocateBytes(size_t size);
  void LinkUsers(HloComputation* computation);

  std::unique_ptr<HloModule> module_;
  const proto::HloInstructionProto* no_attributes_;
  const proto::HloComputationProto* no_computation_attributes_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HLO_MODULE_BUILDER_H_
