#ifndef AUTOTUNE_TUNER_MODELS_H_
#define AUTOTUNE_TUNER_MODELS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "costmodel/cost_model.h"
#include "hardware/measurement.h"

namespace autotune {

// The cost model of a name, as `--model` and methods take it, for times of a device ("tpu-v3"):
// "learned" (the weights that come with autotune), "analytical", the folder of a trained model;
// null for "none". Errors carry their exit code: InvalidArgument for another name, an unknown
// device or a model that does not suit, Unavailable for a model whose module or weights are not
// there.
absl::StatusOr<std::shared_ptr<CostModel>> CreateModel(const std::string& name,
                                                       const std::string& device,
                                                       TimeSource source = TimeSource::kHardware);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_MODELS_H_
