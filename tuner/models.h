#ifndef AUTOTUNE_TUNER_MODELS_H_
#define AUTOTUNE_TUNER_MODELS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "costmodel/cost_model.h"

namespace autotune {

// The cost model of a name, as `--model` and methods take it, for a device ("tpu-v3"):
// "analytical"; null for "none". Errors carry their exit code: InvalidArgument for another name or
// an unknown device, Unavailable for a model whose module is not there.
absl::StatusOr<std::shared_ptr<CostModel>> CreateModel(const std::string& name,
                                                       const std::string& device);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_MODELS_H_
