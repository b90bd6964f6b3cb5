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

// Where tiles are written.
enum class ApplyForm {
  // The program before optimisation, on the operation that a kernel is made around. The compiler
  // makes its kernels anew, and with a tile it sometimes makes others: such tiles are left out.
  kSource,
  // The optimised program, on the kernels themselves: scheduled, so that the compiler only emits
  // it, and obeys every tile that it obeys for the kernel alone.
  kScheduled,
};

enum class ApplyOutcome {
  kApplied,     // the compiled kernel has the chosen tile
  kDefault,     // nothing to write: the compiler's own tile was chosen, or nothing was measured
  kNotApplied,  // see detail
};

// What became of the configuration of one kernel.
struct AppliedKernel {
  std::string kernel;
  std::string config;  // canonical key; empty if nothing of it was measured
  ApplyOutcome outcome = ApplyOutcome::kNotApplied;
  // The instructions of the program that carry the tile; sorted.
  std::vector<std::string> instructions;
  // What was left out, for a person; empty if nothing was.
  std::string detail;
};

struct AppliedProgram {
  // With tiles as `window_config`, in the form below: what the TPU compiler takes.
  std::shared_ptr<const HloModule> program;
  // Before optimisation, with cuts as `opt-barrier`, and with the tiles if the form is kSource
  // (then it is `program`): what other compilers can take.
  std::shared_ptr<const HloModule> source;
  ApplyForm form = ApplyForm::kSource;
  std::vector<AppliedKernel> kernels;  // one per kernel of the best configuration, in its order
  int64_t cuts = 0;                    // barriers put in
  int64_t compilations = 0;

  int64_t Count(ApplyOutcome outcome) const;
};

// Writes the configurations of `best` into `program`, a program before optimisation or, for tiles
// alone, an optimised one that is scheduled and holds no placed arrays, and compiles the result:
// only tiles with which the compiled kernels came out stay in it. Where the compiler refuses the
// whole, tiles are halved until those that it refuses are found. A program that cannot be scheduled
// (HoldsPlacedArrays; or nothing of it is obeyed so) takes its tiles before optimisation, whatever
// `form` asks for; so does one without tiles. Without a compiler (`backend` null) only cuts can be
// applied. FailedPrecondition if the program does not compile as it is.
absl::StatusOr<AppliedProgram> ApplyBest(const HloModule& program, const BestConfig& best,
                                         AotBackend* backend,
                                         ApplyForm form = ApplyForm::kScheduled);

// Whether anything in `best` takes a compiler to be applied: a tile that is not the default or, in
// an optimised program, any tile: the program may hold others than the compiler's.
bool HasTilesToApply(const HloModule& program, const BestConfig& best);

// Whether any operations are to be kept apart.
bool HasCuts(const BestConfig& best);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_APPLY_PROGRAM_H_
