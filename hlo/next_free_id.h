#ifndef AUTOTUNE_HLO_NEXT_FREE_ID_H_
#define AUTOTUNE_HLO_NEXT_FREE_ID_H_

#include <cstdint>

#include "proto/hlo.pb.h"

namespace autotune {

// The first of the ids that are free: it and all larger ones are of no computation and of no
// instruction of `program`. At least 1. For adding instructions to the end of a program; FreshNames
// (hlo/fusion_proto.h) keeps to XLA's ranges of ids instead.
int64_t NextFreeId(const proto::HloModuleProto& program);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_NEXT_FREE_ID_H_
