#include "costmodel/model_study.h"

#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace autotune {

absl::StatusOr<std::unique_ptr<StudyData>> StudyData::Create(absl::Span<const std::string> files,
                                                             const StudySplit& split,
                                                             const std::string& scratch,
                                                             int64_t memory_bytes) {
  std::unique_ptr<StudyData> data(new StudyData());
  for (auto* store : {&data->training_, &data->validation_, &data->test_}) {
    const bool large = store == &data->training_;
    absl::StatusOr<std::unique_ptr<ExampleStore>> created =
        ExampleStore::Create(scratch, large ? memory_bytes / 2 : memory_bytes / 4);
    if (!created.ok()) return created.status();
    *store = *std::move(created);
  }
  RecordedDataOptions read;
  read.split = split.programs;
  read.training_device = split.training_device;
  read.test_device = split.test_device;
  read.training_share = split.training_share;
  absl::StatusOr<RecordedData> recorded = ReadRecordedData(
      files, read, data->training_.get(), data->validation_.get(), data->test_.get());
  if (!recorded.ok()) return recorded.status();
  if (data->training_->size() == 0 || data->test_->size() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the split \"", split.name, "\" leaves ", data->training_->size(),
                     " kernels to train on and ", data->test_->size(), " to judge"));
  }
  data->constants_ = std::move(recorded->constants);
  return data;
}

absl::StatusOr<StudyScores> StudyData::Run(const TrainerOptions& options) const {
  const auto start = std::chrono::steady_clock::now();
  absl::StatusOr<TrainingResult> trained =
      TrainNetwork(*training_, *validation_, options, /*progress=*/nullptr);
  if (!trained.ok()) return trained.status();
  StudyScores scores;
  scores.training_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  scores.best_epoch = trained->best_epoch;
  scores.training_kernels = training_->size();
  for (int64_t i = 0; i < training_->size(); ++i) {
    scores.training_configs += training_->info(i).configs;
  }
  absl::StatusOr<std::vector<ScoredKernel>> learned =
      ScoreStore(trained->network.get(), *test_, options.jobs);
  if (!learned.ok()) return learned.status();
  absl::StatusOr<std::vector<ScoredKernel>> analytical = ScoreStore(nullptr, *test_, options.jobs);
  if (!analytical.ok()) return analytical.status();
  scores.learned = *std::move(learned);
  scores.analytical = *std::move(analytical);
  return scores;
}

}  // namespace autotune
