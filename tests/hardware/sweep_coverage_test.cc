#include "hardware/sweep_coverage.h"

#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "hardware/kernel_roofline.h"
#include "hlo/parser.h"

namespace autotune {
namespace {

// A kernel that the compiler gives so many cycles (0: none), once or several times in the program.
Kernel MakeKernel(const std::string& opcode, int64_t cycles, int64_t count,
                  const std::string& space = "") {
  const std::string shape = "f32[64,128]{1,0:T(8,128)" + space + "}";
  const std::string text = "HloModule m, is_scheduled=true\nf {\n  p = " + shape +
                           " parameter(0)\n  ROOT r = f32[64,128]{1,0:T(8,128)} " + opcode +
                           "(p)\n}\nENTRY main {\n  q = " + shape +
                           " parameter(0)\n  ROOT k = f32[64,128]{1,0:T(8,128)} fusion(q), " +
                           "kind=kLoop, calls=f\n}\n";
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  absl::StatusOr<Kernel> kernel = KernelFromModule(*std::move(module));
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  kernel->count = count;
  kernel->compiler_choice = CompilerChoice{};
  kernel->compiler_choice->bounds.output = {8, 1};
  if (cycles > 0) kernel->compiler_choice->estimated_cycles = cycles;
  return *kernel;
}

TuningSite SiteOf(const Kernel& kernel, SiteState state) {
  TuningSite site;
  site.fingerprint = kernel.fingerprint;
  site.state = state;
  return site;
}

// The default of a kernel: a time, or (0) a failure.
void AddDefault(const Kernel& kernel, double seconds, double compiler_seconds,
                Recording* recording) {
  RecordedConfig config{.config = Config(kernel.compiler_choice->bounds)};
  config.is_default = true;
  config.compile_seconds = 2;
  config.compiler_estimate_seconds = compiler_seconds;
  if (seconds > 0) {
    config.seconds = {seconds};
  } else {
    config.failures.push_back({FailureKind::kNotFaithful, "another kernel"});
  }
  recording->FindOrAdd(kernel).Add(config);
}

TEST(SweepCoverage, SharesOfTheEstimatedTime) {
  const DeviceSpec device = FindDeviceSpec("v3").value();
  AotDefault program;
  program.compile_seconds = 7;
  program.kernels = {MakeKernel("negate", 1000, 3), MakeKernel("tanh", 1000, 1),
                     MakeKernel("abs", 4000, 1)};
  const Kernel& often = program.kernels[0];  // 3000 cycles in all
  program.sites = {SiteOf(often, SiteState::kMapped), SiteOf(often, SiteState::kAmbiguous),
                   SiteOf(program.kernels[1], SiteState::kMapped),
                   SiteOf(program.kernels[2], SiteState::kMapped)};
  Recording recording(RecordingOrigin{.device = "tpu-v3", .backend = "aot"});
  const double one = 1000 / device.clock_hz;
  AddDefault(often, 1.1 * one, one, &recording);
  AddDefault(program.kernels[1], 1.3 * one, one, &recording);
  AddDefault(program.kernels[2], 0, 4 * one, &recording);
  const SweepCoverage coverage = CoverageOf(program, recording, device);
  EXPECT_NEAR(coverage.seconds, 8 * one, 1e-15);
  EXPECT_NEAR(coverage.mapped_seconds, 6.5 * one, 1e-15);
  EXPECT_NEAR(coverage.faithful_seconds, 4 * one, 1e-15);
  EXPECT_NEAR(coverage.both_seconds, 2.5 * one, 1e-15);
  EXPECT_EQ(coverage.kernels, 3);
  EXPECT_EQ(coverage.compared, 2);
  EXPECT_EQ(coverage.disagreed, 1);
  EXPECT_EQ(coverage.program_compile_seconds, 7);
  EXPECT_EQ(coverage.kernel_compile_seconds, 6);
}

TEST(SweepCoverage, AKernelWithoutCyclesCountsItsRooflineAndAnUnmeasuredOneIsNotFaithful) {
  const DeviceSpec device = FindDeviceSpec("v3").value();
  AotDefault program;
  program.kernels = {MakeKernel("negate", 0, 2)};
  const SweepCoverage coverage = CoverageOf(program, Recording(RecordingOrigin{}), device);
  const double bytes = 2 * 64 * 128 * 4;
  EXPECT_NEAR(coverage.seconds, 2 * bytes / device.hbm_bytes_per_second, 1e-15);
  EXPECT_EQ(coverage.mapped_seconds, coverage.seconds);  // optimised already
  EXPECT_EQ(coverage.both_seconds, 0);
}

TEST(KernelRoofline, WhatLiesInVmemCostsNoTransfer) {
  const DeviceSpec device = FindDeviceSpec("v5e").value();
  const double in_hbm = RooflineSeconds(MakeKernel("negate", 0, 1), device);
  const double in_vmem = RooflineSeconds(MakeKernel("negate", 0, 1, "S(1)"), device);
  EXPECT_NEAR(in_vmem, in_hbm / 2, 1e-15);
}

TEST(EstimateDisagreement, MoreThanAFifthEitherWay) {
  Measurement measurement = Measurement::FromSamples({1e-6}, TimeSource::kEstimate);
  EXPECT_FALSE(EstimatesDisagree(measurement));
  for (const auto& [compiler, disagree] :
       {std::pair{1.19e-6, false}, {1.21e-6, true}, {0.84e-6, false}, {0.82e-6, true}}) {
    measurement.compiler_estimate_seconds = compiler;
    EXPECT_EQ(EstimatesDisagree(measurement), disagree) << compiler;
  }
  measurement = Measurement::FromSamples({1e-6}, TimeSource::kHardware);
  measurement.compiler_estimate_seconds = 9e-6;
  EXPECT_FALSE(EstimatesDisagree(measurement));  // a time of hardware is no estimate
}

}  // namespace
}  // namespace autotune
