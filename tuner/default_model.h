#ifndef AUTOTUNE_TUNER_DEFAULT_MODEL_H_
#define AUTOTUNE_TUNER_DEFAULT_MODEL_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "costmodel/cost_model.h"
#include "hardware/measurement.h"
#include "hardware/record_store.h"
#include "hlo/kernel.h"
#include "tuner/kernel_space.h"

namespace autotune {

// The model of a run without `--model`.
struct DefaultModel {
  std::string name;  // as `--model` takes it
  std::shared_ptr<CostModel> model;
  std::string note;     // why it is not the learned one and how to get that; empty where it is
  bool broken = false;  // the learned one should be there and does not work
};

// "learned" where the module of learned models can be loaded and the weights that come with
// autotune know the device; else "analytical", with a note. Loads LibTorch only if the weights know
// the device. NotFound, with its exit code, for a device that no model knows.
absl::StatusOr<DefaultModel> CreateDefaultModel(const std::string& device, TimeSource source);

// Whether a search has anything to rank: a kernel with a space of which the store does not know
// every configuration already. A run of nothing but records needs no model and no LibTorch.
bool AnythingToRank(absl::Span<const Kernel> kernels,
                    const std::function<KernelSpace(const Kernel&)>& space_of, RecordStore& store,
                    const MeasurementContext& context, VersionMatch match);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_DEFAULT_MODEL_H_
