#include "hlo/program_stage.h"

#include "absl/strings/match.h"

namespace autotune {
namespace {

bool IsTiled(const Shape& shape) {
  if (shape.IsTuple()) {
    for (const Shape& part : shape.tuple_shapes()) {
      if (IsTiled(part)) return true;
    }
    return false;
  }
  return shape.IsArray() && shape.has_layout() && !shape.layout().tiles.empty();
}

// Fields of the TPU compiler's BackendConfig, which every one of its instructions that has one
// begins with.
bool IsTpuConfig(absl::string_view config) {
  for (const absl::string_view field :
       {"\"window_config\"", "\"flag_configs\"", "\"scoped_memory_configs\""}) {
    if (absl::StrContains(config, field)) return true;
  }
  return false;
}

}  // namespace

ProgramStage StageOf(const HloModule& module) {
  bool optimized = module.is_scheduled();
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* instruction : computation->instructions()) {
      optimized |= instruction->opcode() == HloOpcode::kFusion;
      if (IsTiled(instruction->shape()) || IsTpuConfig(instruction->backend_config())) {
        return ProgramStage::kOptimizedForTpu;
      }
    }
  }
  return optimized ? ProgramStage::kOptimizedElsewhere : ProgramStage::kBeforeOptimization;
}

absl::string_view ProgramStageName(ProgramStage stage) {
  switch (stage) {
    case ProgramStage::kBeforeOptimization:
      return "before optimisation";
    case ProgramStage::kOptimizedForTpu:
      return "optimised for TPU";
    case ProgramStage::kOptimizedElsewhere:
      break;
  }
  return "optimised for another platform than TPU";
}

absl::string_view ProgramStageAdvice(ProgramStage stage) {
  switch (stage) {
    case ProgramStage::kBeforeOptimization:
      return "is a program before optimisation: its kernels do not exist yet.\n"
             "  To tune it by replay, give the program as the TPU compiler left it:\n"
             "    in JAX: jax.jit(f).lower(*args).compile().as_text()\n"
             "    or XLA_FLAGS=--xla_dump_to=DIR, then the file ...after_optimizations.txt\n"
             "  To tune it as it is, a compiling backend is needed: --backend aot or pjrt";
    case ProgramStage::kOptimizedForTpu:
      return "is a program as the TPU compiler left it: its kernels can be looked up in recordings "
             "and modelled.\n"
             "  To compile it anew, give the program before optimisation: --source FILE";
    case ProgramStage::kOptimizedElsewhere:
      break;
  }
  return "was optimised for another platform than TPU: its fusions are not a TPU's kernels.\n"
         "  Give the program before optimisation (in JAX: "
         "jax.jit(f).lower(*args).as_text(\"hlo\"),\n"
         "  or XLA_FLAGS=--xla_dump_to=DIR, then the file ...before_optimizations.txt), or one "
         "compiled for a TPU";
}

}  // namespace autotune
