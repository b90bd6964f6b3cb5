#ifndef AUTOTUNE_HARDWARE_KERNEL_VMEM_H_
#define AUTOTUNE_HARDWARE_KERNEL_VMEM_H_

#include "hardware/device_spec.h"
#include "hlo/int_math.h"
#include "hlo/tile_geometry.h"

namespace autotune {

// True if a tile's buffers fit into what the device's compiler gives one kernel of VMEM. Where the
// device unpacks 16-bit data, a convolution needs copies of its input as well.
inline bool FitsVmem(const TileEvaluation& tile, const DeviceSpec& device) {
  const int64_t copies = device.unpacks_16_bit ? tile.input_copy_bytes : 0;
  return SaturatingAdd(tile.vmem_bytes, copies) <= device.kernel_vmem_bytes;
}

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_KERNEL_VMEM_H_
