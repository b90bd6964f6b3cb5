#ifndef AUTOTUNE_HARDWARE_VMEM_STAGING_H_
#define AUTOTUNE_HARDWARE_VMEM_STAGING_H_

#include "proto/hlo.pb.h"

namespace autotune {

// What the names of the instructions that StageVmemOperands adds begin with.
inline constexpr char kStagingPrefix[] = "staging.";

// The entry computation; null if the id names none.
proto::HloComputationProto* EntryComputation(proto::HloModuleProto* program);
const proto::HloComputationProto* EntryComputation(const proto::HloModuleProto& program);

// Whether the module of a kernel has operands or results in VMEM (memory space 1).
bool UsesVmem(const proto::HloModuleProto& kernel_program);

// A compiler places the parameters and results of a program in HBM, whatever their shapes say. So
// that a kernel cut out of a program finds its operands in VMEM as it did there, its entry
// computation copies them into VMEM before the kernel and its results out of it afterwards. Changes
// the entry computation of a kernel's module; the kernel stays as it is, and is no longer the root
// if it has a result in VMEM. Parameters that are tuples stay as they are.
void StageVmemOperands(proto::HloModuleProto* kernel_program);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_VMEM_STAGING_H_
