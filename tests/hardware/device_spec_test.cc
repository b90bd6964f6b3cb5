#include "hardware/device_spec.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autotune {
namespace {

// The figures of jax/_src/pallas/mosaic/tpu_info.py in jax 0.10.2, per TensorCore.
struct JaxFigures {
  std::string name;
  int cores;
  int64_t vmem_bytes;
  int64_t smem_bytes;
  double hbm_bytes_per_second;
  double bf16_flops_per_second;
  double int8_ops_per_second;
  int64_t matrix_unit_size;
  bool megacore;
};

const JaxFigures kJax[] = {
    {"tpu-v2", 2, 16 << 20, 16 << 10, 7.16e11 / 2, 4.6e13 / 2, 0, 128, false},
    {"tpu-v3", 2, 16 << 20, 16 << 10, 8.25e11 / 2, 1.40e14 / 2, 0, 128, false},
    {"tpu-v4", 2, 16 << 20, 1 << 20, 1.23e12 / 2, 2.75e14 / 2, 0, 128, true},
    {"tpu-v5e", 1, 128 << 20, 1 << 20, 8.20e11, 1.97e14, 3.94e14, 128, false},
    {"tpu-v5p", 2, 64 << 20, 1 << 20, 2.46e12 / 2, 4.59e14 / 2, 9.18e14 / 2, 128, true},
    {"tpu-v6e", 1, 128 << 20, 1 << 20, 1.64e12, 9.20e14, 1.84e15, 256, false},
    {"tpu-v7x", 2, 64 << 20, 1 << 20, 7.40e12 / 2, 2.31e15 / 2, 0, 256, false},
};

TEST(DeviceSpecTest, AgreesWithJaxUpToRounding) {
  ASSERT_EQ(AllDeviceSpecs().size(), std::size(kJax));
  for (size_t i = 0; i < std::size(kJax); ++i) {
    const DeviceSpec& spec = AllDeviceSpecs()[i];
    const JaxFigures& jax = kJax[i];
    SCOPED_TRACE(jax.name);
    EXPECT_EQ(spec.name, jax.name);
    EXPECT_EQ(spec.tensor_cores_per_chip, jax.cores);
    EXPECT_EQ(spec.megacore, jax.megacore);
    EXPECT_EQ(spec.vmem_bytes, jax.vmem_bytes);
    EXPECT_EQ(spec.smem_bytes, jax.smem_bytes);
    EXPECT_EQ(spec.matrix_unit_size, jax.matrix_unit_size);
    // Published peaks and jax's differ most for v3 (123 against 140 TFLOP/s) and v5p (2,765 against
    // 2,460 GB/s).
    EXPECT_NEAR(spec.hbm_bytes_per_second / jax.hbm_bytes_per_second, 1, 0.13);
    EXPECT_NEAR(spec.bf16_flops_per_second / jax.bf16_flops_per_second, 1, 0.13);
    if (jax.int8_ops_per_second > 0) {
      EXPECT_NEAR(spec.int8_ops_per_second / jax.int8_ops_per_second, 1, 0.01);
    }
  }
}

TEST(DeviceSpecTest, MatrixUnitsAreWhole) {
  const double expected[] = {1, 2, 4, 4, 4, 4, 4};
  for (size_t i = 0; i < AllDeviceSpecs().size(); ++i) {
    EXPECT_NEAR(AllDeviceSpecs()[i].matrix_units, expected[i], 0.03 * expected[i])
        << AllDeviceSpecs()[i].name;
  }
}

TEST(DeviceSpecTest, FindsNamesAsPeopleWriteThem) {
  for (const char* name : {"v3", "tpu-v3", "TPU v3", "tpu_v3"}) {
    const auto spec = FindDeviceSpec(name);
    ASSERT_TRUE(spec.ok()) << name;
    EXPECT_EQ(spec->name, "tpu-v3");
    EXPECT_DOUBLE_EQ(spec->hbm_bytes_per_second, 450e9);
    EXPECT_DOUBLE_EQ(spec->clock_hz, 940e6);
  }
  EXPECT_EQ(FindDeviceSpec("TPU v5 lite")->name, "tpu-v5e");
  EXPECT_EQ(FindDeviceSpec("TPU v5")->name, "tpu-v5p");
  EXPECT_EQ(FindDeviceSpec("TPU v6 lite")->name, "tpu-v6e");
  EXPECT_EQ(FindDeviceSpec("TPU7x")->name, "tpu-v7x");
}

TEST(DeviceSpecTest, RefusesOthersAndListsWhatItKnows) {
  for (const char* name : {"", "v9", "gpu", "tpu"}) {
    const auto spec = FindDeviceSpec(name);
    EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(spec.status().message()), ::testing::HasSubstr("tpu-v6e"));
  }
}

}  // namespace
}  // namespace autotune
