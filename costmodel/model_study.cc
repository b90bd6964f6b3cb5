#include "costmodel/model_study.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace autotune {

namespace {

// So many of an example's configurations, in their order.
KernelExample SampleOf(const KernelExample& example, int64_t configs) {
  std::vector<size_t> chosen(static_cast<size_t>(example.configs()));
  std::iota(chosen.begin(), chosen.end(), size_t{0});
  std::mt19937_64 random(example.fingerprint);
  std::shuffle(chosen.begin(), chosen.end(), random);
  chosen.resize(static_cast<size_t>(configs));
  std::sort(chosen.begin(), chosen.end());
  KernelExample sample = example;
  sample.config_features.clear();
  sample.base.clear();
  sample.target.clear();
  sample.default_config = -1;
  const size_t width = example.config_features.size() / example.target.size();
  for (const size_t i : chosen) {
    if (static_cast<int64_t>(i) == example.default_config) sample.default_config = sample.configs();
    const auto row = example.config_features.begin() + static_cast<std::ptrdiff_t>(i * width);
    sample.config_features.insert(sample.config_features.end(), row,
                                  row + static_cast<std::ptrdiff_t>(width));
    sample.base.push_back(example.base[i]);
    sample.target.push_back(example.target[i]);
  }
  return sample;
}

int64_t ConfigsIn(const ExampleStore& store) {
  int64_t configs = 0;
  for (int64_t i = 0; i < store.size(); ++i) configs += store.info(i).configs;
  return configs;
}

}  // namespace

absl::Status SampleConfigs(const ExampleStore& from, int64_t configs, ExampleStore* to) {
  const double share =
      std::min(1.0, static_cast<double>(configs) /
                        static_cast<double>(std::max<int64_t>(1, ConfigsIn(from))));
  for (int64_t i = 0; i < from.size(); ++i) {
    absl::StatusOr<std::shared_ptr<const KernelExample>> example = from.Read(i);
    if (!example.ok()) return example.status();
    const int64_t all = (*example)->configs();
    const int64_t kept = std::clamp<int64_t>(std::llround(share * static_cast<double>(all)),
                                             std::min<int64_t>(2, all), all);
    if (absl::Status status = to->Add(SampleOf(**example, kept)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

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
  if (split.training_configs > 0) {
    absl::StatusOr<std::unique_ptr<ExampleStore>> sampled =
        ExampleStore::Create(scratch, memory_bytes / 2);
    if (!sampled.ok()) return sampled.status();
    absl::Status status = SampleConfigs(*data->training_, split.training_configs, sampled->get());
    if (!status.ok()) return status;
    data->training_ = *std::move(sampled);
  }
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
  scores.training_configs = ConfigsIn(*training_);
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
