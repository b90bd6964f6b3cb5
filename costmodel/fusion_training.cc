#include "costmodel/fusion_training.h"

#include <utility>

#include "costmodel/example_store.h"
#include "costmodel/fusion_features.h"

namespace autotune {
namespace {

constexpr int64_t kMemoryBytes = int64_t{256} << 20;

}  // namespace

TrainerOptions FusionTrainerOptions() {
  TrainerOptions options;
  options.epochs = 24;
  options.batch_kernels = 32;
  options.kernel_configs = 1;
  options.network.opcodes = FusionFeatureSchema().opcodes;
  options.network.members = 2;
  options.network.hidden = 48;
  options.network.kernel_embedding = 24;
  // There is nothing to say about the one configuration of a group.
  options.network.residual_cap = 0.1;
  options.step.loss = Loss::kSquaredError;
  options.step.learning_rate = 2e-3;
  options.step.dropout = 0.1;
  options.step.feature_noise = 0.05;
  return options;
}

absl::StatusOr<std::unique_ptr<Network>> TrainFusionWithout(absl::Span<const FusionPair> pairs,
                                                            absl::Span<const std::string> programs,
                                                            uint64_t seed, int jobs,
                                                            const std::string& scratch) {
  absl::StatusOr<std::unique_ptr<ExampleStore>> training =
      ExampleStore::Create(scratch, kMemoryBytes);
  if (!training.ok()) return training.status();
  absl::StatusOr<std::unique_ptr<ExampleStore>> none = ExampleStore::Create(scratch, 1);
  if (!none.ok()) return none.status();
  ProgramSplit split;
  for (const std::string& program : programs) split[program] = Side::kTest;
  absl::StatusOr<RecordedData> data =
      ReadFusionData(pairs, split, training->get(), nullptr, nullptr);
  if (!data.ok()) return data.status();
  TrainerOptions options = FusionTrainerOptions();
  options.network.seed = seed;
  options.jobs = jobs;
  options.data_fingerprint = data->fingerprint;
  absl::StatusOr<TrainingResult> result =
      TrainNetwork(**training, **none, options, [](const EpochReport&) { return true; });
  if (!result.ok()) return result.status();
  return std::move(result->network);
}

}  // namespace autotune
