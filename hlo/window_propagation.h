#ifndef AUTOTUNE_HLO_WINDOW_PROPAGATION_H_
#define AUTOTUNE_HLO_WINDOW_PROPAGATION_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "hlo/instruction.h"
#include "hlo/window_dim.h"

namespace autotune {

// Derives which window every instruction of a kernel works on from the windows of a few of them
// (the hero and its operands), along the data flow in both directions and into nested fusions.
// Refers to the kernel's module, which must outlive it. Thread-compatible.
class WindowPropagation {
 public:
  // `operation` is the kernel's one operation.
  explicit WindowPropagation(const HloInstruction& operation);

  // The operations of the kernel, nested fusions opened, operands before their users; parameters
  // and fusion instructions are among them.
  absl::Span<const HloInstruction* const> instructions() const { return instructions_; }

  // Fixes the windows of an instruction's result, one per logical dimension. What is set first
  // stays.
  void Set(const HloInstruction& instruction, const Windows& windows);

  // Derives what follows. What no rule reaches stays unknown.
  void Run();

  // Null if unknown.
  const Windows* Find(const HloInstruction& instruction) const;

 private:
  void Flatten(const HloInstruction& operation);
  bool Sweep(bool forwards);
  bool Visit(const HloInstruction& instruction);
  bool VisitFusion(const HloInstruction& fusion);
  bool Share(const HloInstruction& a, const HloInstruction& b);
  bool GuessBroadcasts();

  std::vector<const HloInstruction*> instructions_;
  absl::flat_hash_map<const HloInstruction*, Windows> windows_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HLO_WINDOW_PROPAGATION_H_
