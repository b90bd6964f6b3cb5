#ifndef AUTOTUNE_COSTMODEL_FUSION_TRAINING_H_
#define AUTOTUNE_COSTMODEL_FUSION_TRAINING_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "costmodel/fusion_examples.h"
#include "costmodel/network.h"
#include "costmodel/trainer.h"

namespace autotune {

// How networks of the fusion task are trained unless something else is asked for: squared error of
// log time, a fixed number of epochs.
TrainerOptions FusionTrainerOptions();

// A network trained on the recordings of all `pairs` but those of `programs`, for judging it there.
// Kernels that these have as well are left out. `scratch` is a folder for the examples. Errors as
// ReadFusionData and TrainNetwork have them.
absl::StatusOr<std::unique_ptr<Network>> TrainFusionWithout(absl::Span<const FusionPair> pairs,
                                                            absl::Span<const std::string> programs,
                                                            uint64_t seed, int jobs,
                                                            const std::string& scratch);

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_FUSION_TRAINING_H_
