#ifndef AUTOTUNE_HLO_TUNING_SITE_H_
#define AUTOTUNE_HLO_TUNING_SITE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "hlo/kernel.h"
#include "hlo/module.h"

namespace autotune {

// Whether it is known where a kernel comes from.
enum class SiteState {
  kMapped,     // one instruction of the program before optimisation
  kAmbiguous,  // several could be it
  kLost,       // none: the compiler made the kernel itself, or its operation has no tiles
};

// "mapped", "ambiguous", "lost".
absl::string_view SiteStateName(SiteState state);

// One occurrence of a kernel in an optimised program, with the instruction of the program before
// optimisation that it was made around (its hero: the convolution or matrix product, the reduction,
// else the root). A `window_config` on the hero is obeyed by the compiler. A plain value.
struct TuningSite {
  std::string kernel;        // the instruction's name in the optimised program
  uint64_t fingerprint = 0;  // of the kernel
  std::optional<CompilerChoice> choice;
  SiteState state = SiteState::kLost;
  std::string hero;    // the instruction's name before optimisation; empty unless mapped
  std::string reason;  // why it is not mapped; empty if it is
};

// Marks every instruction of a program before optimisation, as HloModule::ToProto wrote it, in its
// metadata (at the end of `op_name`), which compilers carry along through their passes.
void StampInstructions(proto::HloModuleProto* program);

// Takes the marks away again.
void RemoveStamps(proto::HloModuleProto* program);

// The sites of all kernels with a window, in the order of the optimised program. `optimized` is
// what a compiler made of `program` with StampInstructions.
std::vector<TuningSite> FindTuningSites(const HloModule& program, const HloModule& optimized);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_TUNING_SITE_H_
