// A measurement backend of one's own: a roofline that needs neither a compiler nor a device, put to
// work by the tuner.
//
//   example_custom_backend [PROGRAM]

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "hardware/device_spec.h"
#include "hardware/measurement_backend.h"
#include "hlo/kernel.h"
#include "hlo/read_module.h"
#include "hlo/tile_geometry.h"
#include "tuner/kernel_space.h"
#include "tuner/tuner.h"

namespace autotune {
namespace {

// The time that a kernel's transfers take with a tile, and a fixed cost for each iteration: crude,
// but it tells tiles apart.
class RooflineBackend final : public MeasurementBackend {
 public:
  explicit RooflineBackend(DeviceSpec device) : device_(std::move(device)) {
    capabilities_.name = "roofline";
    capabilities_.device = device_.name;
    capabilities_.time_source = TimeSource::kEstimate;
  }

  const Capabilities& capabilities() const override { return capabilities_; }

  // A candidate that fails is a result; only what breaks the backend itself would be a status.
  absl::StatusOr<std::vector<Measurement>> Measure(
      absl::Span<const Candidate> candidates) override {
    std::vector<Measurement> results;
    for (const Candidate& candidate : candidates) results.push_back(MeasureOne(candidate));
    return results;
  }

 private:
  Measurement MeasureOne(const Candidate& candidate) const {
    const TileBounds* bounds = candidate.config.tile();
    const absl::StatusOr<TileGeometry> geometry = TileGeometry::Create(*candidate.kernel->module);
    if (bounds == nullptr || !geometry.ok() || !geometry->Check(*bounds).ok()) {
      return Measurement::FromFailure(FailureKind::kNotFaithful, "no tile of this kernel");
    }
    const TileEvaluation tile = geometry->Evaluate(*bounds);
    double bytes = 0;
    for (size_t i = 0; i < tile.window_bytes.size(); ++i) {
      bytes += static_cast<double>(tile.window_bytes[i]) * static_cast<double>(tile.transfers[i]);
    }
    constexpr double kCyclesPerIteration = 400;
    const double seconds =
        bytes / device_.hbm_bytes_per_second +
        kCyclesPerIteration * static_cast<double>(tile.iterations) / device_.clock_hz;
    return Measurement::FromSamples({seconds}, TimeSource::kEstimate);
  }

  const DeviceSpec device_;
  Capabilities capabilities_;
};

int Run(const std::string& path) {
  absl::StatusOr<ReadModuleResult> program = ReadModuleFile(path);
  absl::StatusOr<DeviceSpec> device = FindDeviceSpec("v3");
  if (!program.ok() || !device.ok()) {
    std::fprintf(stderr, "%s\n", program.status().ToString().c_str());
    return 1;
  }
  absl::StatusOr<std::vector<Kernel>> kernels = ExtractKernels(*program->module);
  if (!kernels.ok()) return 1;

  TunerParts parts;
  parts.backend = std::make_unique<RooflineBackend>(*device);
  parts.space_of = [&](const Kernel& kernel) { return SpaceFromGeometry(kernel, *device); };
  TunerOptions options;
  options.strategy = "annealing";
  options.budget = 200;
  absl::StatusOr<std::unique_ptr<Tuner>> tuner = Tuner::Create(std::move(parts), options);
  if (!tuner.ok()) {
    std::fprintf(stderr, "%s\n", tuner.status().ToString().c_str());
    return 1;
  }
  TuningTask task;
  task.run.id = "example";
  task.kernels = *std::move(kernels);
  const TuningReport report = (*tuner)->Tune(task);
  int tuned = 0;
  for (const KernelReport& kernel : report.kernels) {
    if (!kernel.best || !kernel.best->measurement.ok()) continue;
    ++tuned;
    std::printf("%-24s %8.2f us with %s\n", kernel.name.c_str(),
                kernel.best->measurement.MedianSeconds() * 1e6, kernel.best->config.Key().c_str());
  }
  std::printf("%d kernels tuned on the backend \"%s\"\n", tuned, report.backend.c_str());
  return tuned > 0 && report.outcome == RunOutcome::kDone ? 0 : 1;
}

}  // namespace
}  // namespace autotune

int main(int argc, char** argv) {
  return autotune::Run(argc > 1 ? argv[1] : "examples/alexnet/program.hlo");
}
