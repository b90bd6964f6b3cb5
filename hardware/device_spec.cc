#include "hardware/device_spec.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace autotune {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;
constexpr int64_t kKernelVmemBytes = 16 * kMiB;  // [K]

// Sources, by letter:
// [S] Google Cloud's TPU system architecture pages (cloud.google.com/tpu/docs/v2 ... /v6e, tpu7x):
//     peak FLOP/s, HBM bandwidth, TensorCores per chip.
// [C] Clock rates: Jouppi et al., "Ten Lessons From Three Generations Shaped Google's TPUv4i",
//     ISCA 2021 (v2 700 MHz, v3 940 MHz), and "TPU v4: An Optically Reconfigurable Supercomputer",
//     ISCA 2023 (v4 1,050 MHz).
// [J] jax/_src/pallas/mosaic/tpu_info.py of jax 0.10.2: VMEM and SMEM of a core, units and
//     their size. tests/hardware/device_spec_test.cc holds its figures beside these.
// [K] Seen in 36 programs compiled by libtpu 0.0.52: the largest kernels use 16,777,216 bytes of
//     VMEM on v3 and 16,551,936 on v5e, which has 128 MiB: 16 MiB is the default of a kernel.
// [T] libtpu 0.0.52 refuses scalar tiles of any other size for each of its generations: "layout
//     does not match any allowed tile kind, shape: f32[]{:T(128)}, expected shape: f32[]{:T(256)}".
//     AlexNet as TpuGraphs' compiler left it, and 36 programs for v3 and v5e, agree.
// [D] Derived from the peak: flops = units * 2 * size^2 * clock.

// The figures of a chip, from which those of a core follow.
struct Chip {
  absl::string_view name;
  int cores;
  bool megacore;
  bool unpacks_16_bit;
  double clock_hz;
  int64_t matrix_unit_size;
  double bf16_tflops;
  double int8_tops;
  double hbm_gigabytes_per_second;
  int64_t vmem_mib_per_core;
  int64_t smem_kib_per_core;
  int64_t scalar_tile_bytes;  // [T]
};

constexpr Chip kChips[] = {
    // [S] 45 TFLOP/s, 700 GB/s; [C] 700 MHz; [J] 16 MiB VMEM, 16 KiB SMEM, products of f32 operands
    // only (also v3).
    {"tpu-v2", 2, false, true, 0.70e9, 128, 45, 0, 700, 16, 16, 1024},
    // [S] 123 TFLOP/s, 900 GB/s; [C] 940 MHz; [J] 16 MiB VMEM, 16 KiB SMEM. [J] has 825 GB/s, which
    // is about what long transfers reach.
    {"tpu-v3", 2, false, true, 0.94e9, 128, 123, 0, 900, 16, 16, 1024},
    // [S] 275 TFLOP/s, 1,228 GB/s; [C] 1,050 MHz; [J] 16 MiB VMEM, 1 MiB SMEM.
    {"tpu-v4", 2, true, false, 1.05e9, 128, 275, 0, 1228, 16, 1024, 512},
    // [S] 197 TFLOP/s, 394 TOP/s, 819 GB/s; [D] 1.5 GHz with 4 units; [J] 128 MiB VMEM.
    {"tpu-v5e", 1, false, false, 1.50e9, 128, 197, 394, 819, 128, 1024, 512},
    // [S] 459 TFLOP/s, 918 TOP/s, 2,765 GB/s; [D] 1.75 GHz with 4 units a core; [J] 64 MiB VMEM.
    {"tpu-v5p", 2, true, false, 1.75e9, 128, 459, 918, 2765, 64, 1024, 512},
    // [S] 918 TFLOP/s, 1,836 TOP/s, 1,640 GB/s; [J] 256 x 256 units, 128 MiB VMEM; [D] 1.75 GHz
    // if each of [J]'s 2 units takes two rows a cycle (they count as 4 here).
    {"tpu-v6e", 1, false, false, 1.75e9, 256, 918, 1836, 1640, 128, 1024, 512},
    // [S] 2,307 TFLOP/s, 7,380 GB/s; [J] 256 x 256 units, 64 MiB VMEM; [D] 2.2 GHz if each of
    // [J]'s 2 units a core takes two rows a cycle.
    {"tpu-v7x", 2, false, false, 2.20e9, 256, 2307, 0, 7380, 64, 1024, 512},
};

DeviceSpec PerCore(const Chip& chip) {
  DeviceSpec spec;
  const double cores = chip.cores;
  const double size = static_cast<double>(chip.matrix_unit_size);
  spec.name = std::string(chip.name);
  spec.tensor_cores_per_chip = chip.cores;
  spec.megacore = chip.megacore;
  spec.clock_hz = chip.clock_hz;
  spec.matrix_unit_size = chip.matrix_unit_size;
  spec.unpacks_16_bit = chip.unpacks_16_bit;
  spec.bf16_flops_per_second = chip.bf16_tflops * 1e12 / cores;
  spec.int8_ops_per_second = chip.int8_tops * 1e12 / cores;
  spec.matrix_units = spec.bf16_flops_per_second / (2 * size * size * chip.clock_hz);
  spec.hbm_bytes_per_second = chip.hbm_gigabytes_per_second * 1e9 / cores;
  spec.vmem_bytes = chip.vmem_mib_per_core * kMiB;
  spec.kernel_vmem_bytes = std::min(spec.vmem_bytes, kKernelVmemBytes);
  spec.smem_bytes = chip.smem_kib_per_core * kKiB;
  spec.scalar_tile_bytes = chip.scalar_tile_bytes;
  return spec;
}

// "TPU v5 lite" and "tpu_v5e" become "v5e".
std::string Canonical(absl::string_view name) {
  std::string text = absl::AsciiStrToLower(name);
  std::string kept;
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) kept += c;
  }
  if (absl::StartsWith(kept, "tpu")) kept = kept.substr(3);
  if (!absl::StartsWith(kept, "v")) kept = absl::StrCat("v", kept);
  if (kept == "v5lite") return "v5e";
  if (kept == "v6lite") return "v6e";
  if (kept == "v5") return "v5p";
  if (kept == "v7") return "v7x";
  return kept;
}

}  // namespace

absl::Span<const DeviceSpec> AllDeviceSpecs() {
  static const auto* const specs = [] {
    auto* all = new std::vector<DeviceSpec>();
    for (const Chip& chip : kChips) all->push_back(PerCore(chip));
    return all;
  }();
  return *specs;
}

absl::StatusOr<DeviceSpec> FindDeviceSpec(absl::string_view name) {
  const std::string canonical = absl::StrCat("tpu-", Canonical(name));
  for (const DeviceSpec& spec : AllDeviceSpecs()) {
    if (spec.name == canonical) return spec;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("Unknown device \"", name, "\"; known are ", DeviceSpecNames()));
}

std::string DeviceSpecNames() {
  return absl::StrJoin(AllDeviceSpecs(), ", ", [](std::string* out, const DeviceSpec& spec) {
    absl::StrAppend(out, spec.name);
  });
}

}  // namespace autotune
