#include "costmodel/analytical_model.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "hlo/module.h"

namespace autotune {
namespace {

// Kernels of the largest programs number a few hundred; beyond this the cache starts anew.
constexpr size_t kMaxCachedKernels = 4096;

}  // namespace

AnalyticalModel::AnalyticalModel(const DeviceSpec& device, const AnalyticalConstants& constants)
    : device_(device), constants_(constants) {}

absl::StatusOr<std::shared_ptr<const AnalyticalKernel>> AnalyticalModel::KernelOf(
    const Kernel& kernel) const {
  if (kernel.module == nullptr) return absl::InvalidArgumentError("The kernel has no module");
  {
    absl::MutexLock lock(&mutex_);
    const auto found = kernels_.find(kernel.module.get());
    if (found != kernels_.end()) return found->second.kernel;
  }
  absl::StatusOr<AnalyticalKernel> created = AnalyticalKernel::Create(*kernel.module, device_);
  absl::StatusOr<std::shared_ptr<const AnalyticalKernel>> result(nullptr);
  if (created.ok()) {
    result = std::make_shared<const AnalyticalKernel>(*std::move(created));
  } else {
    result = created.status();
  }
  absl::MutexLock lock(&mutex_);
  if (kernels_.size() >= kMaxCachedKernels) kernels_.clear();
  kernels_.try_emplace(kernel.module.get(), Entry{kernel.module, result});
  return result;
}

absl::StatusOr<std::vector<double>> AnalyticalModel::Predict(
    const Kernel& kernel, absl::Span<const Config> configs) const {
  constexpr double kImpossible = std::numeric_limits<double>::infinity();
  std::vector<double> predictions(configs.size(), kImpossible);
  const auto analytical = KernelOf(kernel);
  if (!analytical.ok()) return predictions;
  AnalyticalScratch scratch;
  for (size_t i = 0; i < configs.size(); ++i) {
    const TileBounds* bounds = configs[i].tile();
    if (bounds == nullptr || !(*analytical)->geometry().Accepts(*bounds)) continue;
    const AnalyticalEstimate estimate = (*analytical)->Estimate(*bounds, constants_, &scratch);
    if (estimate.fits) predictions[i] = std::log(estimate.seconds);
  }
  return predictions;
}

absl::Status AnalyticalModel::Fit(absl::Span<const TrainingSample> samples) {
  (void)samples;
  return absl::UnimplementedError(
      "The analytical model's constants are fitted offline; it learns nothing from a run");
}

}  // namespace autotune
