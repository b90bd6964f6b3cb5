#ifndef AUTOTUNE_HLO_PROGRAM_STAGE_H_
#define AUTOTUNE_HLO_PROGRAM_STAGE_H_

#include "absl/strings/string_view.h"
#include "hlo/module.h"

namespace autotune {

// How far a compiler has come with a program.
enum class ProgramStage {
  kBeforeOptimization,  // as a framework wrote it, or in the middle of the passes: nothing is fused
  kOptimizedForTpu,     // fused, with tiled layouts or what the TPU compiler writes about kernels
  kOptimizedElsewhere,  // fused or scheduled, but by the compiler of a CPU, a GPU, ...
};

// Told from the program alone: the TPU compiler gives arrays tiled layouts, and its kernels a
// backend configuration of its own; other compilers fuse or schedule without these.
ProgramStage StageOf(const HloModule& module);

// "before optimisation", "optimised for TPU", "optimised for another platform than TPU".
absl::string_view ProgramStageName(ProgramStage stage);

// What can be done with such a program, and where one of another stage comes from: one or two
// sentences that follow on the program's name, such as "p.hlo is ...".
absl::string_view ProgramStageAdvice(ProgramStage stage);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_PROGRAM_STAGE_H_
