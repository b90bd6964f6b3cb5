#include "tuner/models.h"

#include "absl/strings/str_cat.h"
#include "tuner/command_status.h"

namespace autotune {

absl::StatusOr<std::shared_ptr<CostModel>> CreateModel(const std::string& name,
                                                       const std::string& device) {
  (void)device;
  if (name == "none" || name == "analytical") return std::shared_ptr<CostModel>();
  return WithExitCode(kExitWrongUse, absl::InvalidArgumentError(absl::StrCat(
                                         "--model takes analytical or none; got \"", name, "\"")));
}

}  // namespace autotune
