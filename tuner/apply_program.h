#ifndef AUTOTUNE_TUNER_APPLY_PROGRAM_H_
#define AUTOTUNE_TUNER_APPLY_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hardware/aot_backend.h"
#include "hlo/module.h"
#include "tuner/best_config.h"

namespace autotune {

enum class ApplyOutcome {
  kApplied,     // the compiled kernel has the chosen tile
  kDefault,     // the chosen tile is the compiler's own: nothing to write
  kNotApplied,  // see detail
};

// What became of the configuration of one kernel.
struct AppliedKernel {
  std::string kernel;
  std::string config;  // canonical key
  ApplyOutcome outcome = ApplyOutcome::kNotApplied;
  // The instructions that carry the tile; sorted.
  std::vector<std::string> heroes;
  // What was left out, for a person; empty if nothing was.
  std::string detail;
};

struct AppliedProgram {
  // Before optimisation, with tiles as `window_config` and cuts as `opt-barrier`.
  std::shared_ptr<const HloModule> program;
  std::vector<AppliedKernel> kernels;  // one per kernel of the best configuration, in its order
  int64_t cuts = 0;                    // barriers put in
  int64_t compilations = 0;

  int64_t Count(ApplyOutcome outcome) const;
};

// Writes the configurations of `best` into `program`, a program before optimisation, and compiles
// the result: only tiles with which the compiled kernels came out stay in it. Where the compiler
// refuses the whole, tiles are halved until those that it refuses are found. Without a compiler
// (`backend` null) only cuts can be applied. InvalidArgument for an optimised program;
// FailedPrecondition if the program does not compile as it is.
absl::StatusOr<AppliedProgram> ApplyBest(const HloModule& program, const BestConfig& best,
                                         AotBackend* backend);

// Whether anything in `best` takes a compiler to be applied: a tile that is not the default.
bool HasTilesToApply(const BestConfig& best);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_APPLY_PROGRAM_H_
