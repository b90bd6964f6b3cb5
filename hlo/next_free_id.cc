#include "hlo/next_free_id.h"

#include <algorithm>

namespace autotune {

int64_t NextFreeId(const proto::HloModuleProto& program) {
  int64_t next = 1;
  for (const proto::HloComputationProto& computation : program.computations()) {
    next = std::max(next, computation.id() + 1);
    for (const proto::HloInstructionProto& instruction : computation.instructions()) {
      next = std::max(next, instruction.id() + 1);
    }
  }
  return next;
}

}  // namespace autotune
