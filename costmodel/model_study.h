#ifndef AUTOTUNE_COSTMODEL_MODEL_STUDY_H_
#define AUTOTUNE_COSTMODEL_MODEL_STUDY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "costmodel/evaluation.h"
#include "costmodel/example_store.h"
#include "costmodel/recorded_examples.h"
#include "costmodel/trainer.h"

namespace autotune {

// One split of a data set: what is trained on, what decides when to stop, and what is judged.
struct StudySplit {
  std::string name;  // "seed 1", "convolutional networks"
  ProgramSplit programs;
  // Only recordings of this device ("tpu-v3"); empty for all.
  std::string training_device, test_device;
  double training_share = 1;  // of the kernels, for learning curves
  // Train on about so many configurations, the same share of each kernel (two at least), drawn by
  // the kernel's fingerprint; 0: on all. What the analytical model is fitted on stays the same.
  int64_t training_configs = 0;
};

// Copies about `configs` configurations of a store into another, as StudySplit says.
absl::Status SampleConfigs(const ExampleStore& from, int64_t configs, ExampleStore* to);

// What one training came to on the test side of its split.
struct StudyScores {
  std::vector<ScoredKernel> learned;
  // The analytical model fitted on the training side.
  std::vector<ScoredKernel> analytical;
  int64_t training_kernels = 0, training_configs = 0;
  int64_t best_epoch = 0;
  double training_seconds = 0;
};

// The examples of a split, with the analytical model's constants fitted on its training side. Made
// once and then trained on with any number of settings. Thread-compatible.
class StudyData {
 public:
  // `scratch` is a folder for the examples, which stay in memory up to `memory_bytes`. Errors as of
  // ReadRecordedData; InvalidArgument if nothing is left to train on or to judge.
  static absl::StatusOr<std::unique_ptr<StudyData>> Create(absl::Span<const std::string> files,
                                                           const StudySplit& split,
                                                           const std::string& scratch,
                                                           int64_t memory_bytes);

  // Trains a network (its seed is in the options) and scores the test side.
  absl::StatusOr<StudyScores> Run(const TrainerOptions& options) const;

  const ExampleStore& training() const { return *training_; }
  const ExampleStore& validation() const { return *validation_; }
  const ExampleStore& test() const { return *test_; }
  const ConstantsByDevice& constants() const { return constants_; }

 private:
  StudyData() = default;

  std::unique_ptr<ExampleStore> training_, validation_, test_;
  ConstantsByDevice constants_;
};

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_MODEL_STUDY_H_
