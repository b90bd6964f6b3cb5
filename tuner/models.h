#ifndef AUTOTUNE_TUNER_MODELS_H_
#define AUTOTUNE_TUNER_MODELS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "costmodel/cost_model.h"
#include "hardware/config.h"
#include "hardware/measurement.h"
#include "hlo/kernel.h"

namespace autotune {

// The cost model of a name, as `--model` and methods take it, for times of a device ("tpu-v3"):
// "learned" (the weights that come with autotune), "analytical", the folder of a trained model;
// null for "none". Errors carry their exit code: InvalidArgument for another name, an unknown
// device or a model that does not suit, Unavailable for a model whose module or weights are not
// there.
absl::StatusOr<std::shared_ptr<CostModel>> CreateModel(const std::string& name,
                                                       const std::string& device,
                                                       TimeSource source = TimeSource::kHardware);

// Whether such a name is the folder of a trained model, which a model's own name never is.
bool IsModelFolder(const std::string& name);

// Tells a learned model from one that was trained anew under the same name; "" for models of other
// names and where it cannot be read.
std::string ModelFingerprint(const std::string& name);

// How uncertain a model is of each configuration of a kernel, in log-seconds: by how much the
// members of an ensemble disagree. Null for a model that does not know (the analytical one, or
// null). Model and kernel must outlive the function, which is as thread-safe as the model.
std::function<std::vector<double>(absl::Span<const Config>)> SpreadOf(const CostModel* model,
                                                                      const Kernel& kernel);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_MODELS_H_
