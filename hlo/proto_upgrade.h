#ifndef AUTOTUNE_HLO_PROTO_UPGRADE_H_
#define AUTOTUNE_HLO_PROTO_UPGRADE_H_

#include "proto/hlo.pb.h"

namespace autotune {

// Brings a program that an older XLA wrote into the form in which XLA writes it today, as XLA does
// when it reads one: replica groups in a list of their own, default precisions and group counts in
// place, types of comparisons, shapes of the entry with all their fields, and ids of instructions
// that begin with that of their computation. What is wrong with the program stays. Linear in the
// module.
void UpgradeModuleProto(proto::HloModuleProto* module);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_PROTO_UPGRADE_H_
