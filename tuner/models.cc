#include "tuner/models.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "costmodel/analytical_model.h"
#include "hardware/device_spec.h"
#include "tuner/command_status.h"

namespace autotune {

absl::StatusOr<std::shared_ptr<CostModel>> CreateModel(const std::string& name,
                                                       const std::string& device) {
  if (name == "none") return std::shared_ptr<CostModel>();
  if (name == "analytical") {
    absl::StatusOr<DeviceSpec> spec = FindDeviceSpec(device);
    if (!spec.ok()) return WithExitCode(kExitBadInput, spec.status());
    return std::make_shared<AnalyticalModel>(*spec);
  }
  if (name == "learned") {
    return WithExitCode(
        kExitBroken, absl::UnavailableError("--model learned: this build has no module "
                                            "libautotune_torch.so; --model analytical needs none"));
  }
  return WithExitCode(kExitWrongUse, absl::InvalidArgumentError(absl::StrCat(
                                         "--model takes analytical or none; got \"", name, "\"")));
}

}  // namespace autotune
