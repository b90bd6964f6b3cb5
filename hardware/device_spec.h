#ifndef AUTOTUNE_HARDWARE_DEVICE_SPEC_H_
#define AUTOTUNE_HARDWARE_DEVICE_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace autotune {

// What a generation of TPUs can do, as plain data. Everything is per TensorCore unless its name
// says chip: on v2, v3 and v7x a kernel runs on one core. Sources stand in device_spec.cc. Where
// publications differ, the vendor's published peak is taken, not a product of unit counts.
struct DeviceSpec {
  std::string name;  // "tpu-v3"
  int tensor_cores_per_chip = 1;
  // The compiler may run one kernel on both cores of a chip.
  bool megacore = false;

  double clock_hz = 0;
  // Square systolic arrays for products of bfloat16, and the rows and columns of one. A unit that
  // takes several rows a cycle counts as several: count * 2 * size^2 * clock is the peak.
  double matrix_units = 0;
  int64_t matrix_unit_size = 128;
  double bf16_flops_per_second = 0;
  double int8_ops_per_second = 0;  // 0: no integer products

  // The vector and load units handle 16-bit data only unpacked to 32 bits.
  bool unpacks_16_bit = false;

  // 32-bit vector registers hold sublanes x lanes elements.
  int64_t vector_sublanes = 8;
  int64_t vector_lanes = 128;

  double hbm_bytes_per_second = 0;
  int64_t vmem_bytes = 0;
  // What the compiler gives one kernel of it by default.
  int64_t kernel_vmem_bytes = 0;
  int64_t smem_bytes = 0;
  // What the tile of a scalar holds in the compiler's layouts.
  int64_t scalar_tile_bytes = 0;
};

// All generations known, oldest first.
absl::Span<const DeviceSpec> AllDeviceSpecs();

// The generation of that name: "tpu-v3", "v3", "TPU v3", "TPU v5 lite", ... (case does not matter).
// Fails with InvalidArgument, listing the names, for any other.
absl::StatusOr<DeviceSpec> FindDeviceSpec(absl::string_view name);

// "tpu-v2, tpu-v3, ...", for messages.
std::string DeviceSpecNames();

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_DEVICE_SPEC_H_
