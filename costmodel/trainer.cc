// Map of this file: scaling of the inputs, batches, the training loop with its checkpoints.
// Nothing here depends on the number of threads: every member draws its batches from its own seed.

#include "costmodel/trainer.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "costmodel/network_json.h"
#include "costmodel/network_module.h"
#include "costmodel/parallel.h"
#include "hardware/atomic_file.h"
#include "hlo/fingerprint.h"

namespace autotune {
namespace {

// Mean and spread of columns, gathered row by row.
class ColumnStatistics {
 public:
  explicit ColumnStatistics(size_t columns) : sum_(columns), squares_(columns) {}

  void Add(const std::vector<float>& rows) {
    const size_t columns = sum_.size();
    if (columns == 0) return;
    for (size_t i = 0; i < rows.size(); ++i) {
      sum_[i % columns] += rows[i];
      squares_[i % columns] += static_cast<double>(rows[i]) * rows[i];
    }
    const size_t count = rows.size() / columns;
    count_ += static_cast<double>(count);
  }

  // A column that never changes is left out of the model: its factor is 0.
  void Write(std::vector<float>* mean, std::vector<float>* factor) const {
    for (size_t c = 0; c < sum_.size(); ++c) {
      const double average = sum_[c] / std::max(1.0, count_);
      const double variance = squares_[c] / std::max(1.0, count_) - average * average;
      mean->push_back(static_cast<float>(average));
      factor->push_back(variance > 1e-6 ? static_cast<float>(1 / std::sqrt(variance)) : 0.0f);
    }
  }

 private:
  std::vector<double> sum_, squares_;
  double count_ = 0;
};

absl::StatusOr<InputScaling> ScalingOf(const ExampleStore& store, const NetworkOptions& sizes) {
  ColumnStatistics node(static_cast<size_t>(sizes.node_features));
  ColumnStatistics kernel(static_cast<size_t>(sizes.kernel_features));
  ColumnStatistics config(static_cast<size_t>(sizes.config_features));
  for (int64_t i = 0; i < store.size(); ++i) {
    auto example = store.Read(i);
    if (!example.ok()) return example.status();
    node.Add((*example)->graph.node_features);
    kernel.Add((*example)->graph.kernel_features);
    config.Add((*example)->config_features);
  }
  InputScaling scaling;
  node.Write(&scaling.node_mean, &scaling.node_factor);
  kernel.Write(&scaling.kernel_mean, &scaling.kernel_factor);
  config.Write(&scaling.config_mean, &scaling.config_factor);
  return scaling;
}

// Draws configurations of an example; owns the drawn rows.
class DrawnKernel {
 public:
  DrawnKernel(std::shared_ptr<const KernelExample> example, int64_t most, std::mt19937_64* random)
      : example_(std::move(example)) {
    std::vector<size_t> chosen(static_cast<size_t>(example_->configs()));
    std::iota(chosen.begin(), chosen.end(), size_t{0});
    if (example_->configs() > most) {
      std::shuffle(chosen.begin(), chosen.end(), *random);
      chosen.resize(static_cast<size_t>(most));
    }
    const size_t width = example_->config_features.size() / example_->target.size();
    for (const size_t i : chosen) {
      const auto row = example_->config_features.begin() + static_cast<std::ptrdiff_t>(i * width);
      features_.insert(features_.end(), row, row + static_cast<std::ptrdiff_t>(width));
      base_.push_back(example_->base[i]);
      target_.push_back(example_->target[i]);
    }
  }

  TrainingKernel View() const {
    return {example_->View(), static_cast<int64_t>(base_.size()), features_.data(), base_.data(),
            target_.data()};
  }

 private:
  std::shared_ptr<const KernelExample> example_;
  std::vector<float> features_, base_, target_;
};

uint64_t SeedOf(uint64_t seed, int64_t member, int64_t epoch) {
  std::seed_seq sequence{seed, seed >> 32, static_cast<uint64_t>(member),
                         static_cast<uint64_t>(epoch)};
  uint32_t words[2];
  sequence.generate(words, words + 2);
  return uint64_t{words[0]} << 32 | words[1];
}

class Training {
 public:
  Training(const ExampleStore& training, const ExampleStore& validation, TrainerOptions options)
      : training_(training), validation_(validation), options_(std::move(options)) {}

  absl::StatusOr<TrainingResult> Run(const TrainingProgress& progress) {
    if (absl::Status status = Start(); !status.ok()) return status;
    bool more = true;
    while (more && !Finished()) {
      absl::StatusOr<EpochReport> report = RunEpoch(static_cast<int64_t>(epochs_.size()) + 1);
      if (!report.ok()) return report.status();
      epochs_.push_back(*report);
      if (report->best) best_ = network_->Save(/*with_optimizer=*/false);
      if (absl::Status status = SaveState(); !status.ok()) return status;
      more = progress == nullptr || progress(*report);
    }
    TrainingResult result;
    result.interrupted = !more && !Finished();
    result.best_epoch = BestEpoch();
    std::string error;
    if (!best_.empty() && !network_->Load(best_, &error)) return absl::InternalError(error);
    result.network = std::move(network_);
    result.epochs = std::move(epochs_);
    return result;
  }

 private:
  absl::Status Start() {
    if (training_.size() == 0) {
      return absl::InvalidArgumentError("there is nothing to train on: no kernel with two times");
    }
    auto first = training_.Read(0);
    if (!first.ok()) return first.status();
    NetworkOptions& sizes = options_.network;
    const KernelExample& example = **first;
    sizes.node_features =
        static_cast<int64_t>(example.graph.node_features.size()) / example.graph.nodes();
    sizes.kernel_features = static_cast<int64_t>(example.graph.kernel_features.size());
    const auto config_nodes = static_cast<int64_t>(example.graph.config_nodes.size());
    sizes.config_features = static_cast<int64_t>(example.config_features.size()) /
                            example.configs() / std::max<int64_t>(1, config_nodes);
    absl::StatusOr<std::unique_ptr<Network>> network = CreateNetwork(sizes);
    if (!network.ok()) return network.status();
    network_ = *std::move(network);
    absl::StatusOr<InputScaling> scaling = ScalingOf(training_, sizes);
    if (!scaling.ok()) return scaling.status();
    network_->SetScaling(*scaling);
    return LoadState();
  }

  int64_t BestEpoch() const {
    for (size_t i = epochs_.size(); i > 0; --i) {
      if (epochs_[i - 1].best) return epochs_[i - 1].epoch;
    }
    return 0;
  }

  bool Finished() const {
    const auto done = static_cast<int64_t>(epochs_.size());
    return done >= options_.epochs ||
           (validation_.size() > 0 && done - BestEpoch() >= options_.patience);
  }

  // Up in the first epoch, then down to a twentieth along half a cosine.
  double LearningRate(double epoch) const {
    const double top = options_.step.learning_rate;
    if (epoch < 1) return top * (0.1 + 0.9 * epoch);
    const double progress = epoch / static_cast<double>(std::max<int64_t>(1, options_.epochs));
    return top * (0.05 + 0.95 * 0.5 * (1 + std::cos(std::numbers::pi * std::min(1.0, progress))));
  }

  absl::StatusOr<double> TrainMember(int64_t member, int64_t epoch) {
    std::mt19937_64 random(SeedOf(options_.network.seed, member, epoch));
    std::vector<int64_t> order(static_cast<size_t>(training_.size()));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::shuffle(order.begin(), order.end(), random);
    const auto size = static_cast<size_t>(options_.batch_kernels);
    const size_t steps = (order.size() + size - 1) / size;
    double total = 0;
    for (size_t step = 0; step < steps; ++step) {
      std::vector<DrawnKernel> drawn;
      for (size_t i = step * size; i < std::min(order.size(), (step + 1) * size); ++i) {
        auto example = training_.Read(order[i]);
        if (!example.ok()) return example.status();
        drawn.emplace_back(*std::move(example), options_.kernel_configs, &random);
      }
      std::vector<TrainingKernel> batch;
      batch.reserve(drawn.size());
      for (const DrawnKernel& kernel : drawn) batch.push_back(kernel.View());
      TrainingOptions how = options_.step;
      how.learning_rate = LearningRate(static_cast<double>(epoch - 1) +
                                       static_cast<double>(step) / static_cast<double>(steps));
      how.noise_seed = random();
      std::string error;
      const double loss = network_->TrainStep(member, batch, how, &error);
      if (!error.empty()) return absl::InternalError(absl::StrCat("training: ", error));
      if (!std::isfinite(loss)) return absl::InternalError("training: the loss is not finite");
      total += loss;
    }
    return total / static_cast<double>(steps);
  }

  absl::StatusOr<EpochReport> RunEpoch(int64_t epoch) {
    const int64_t members = options_.network.members;
    std::vector<absl::StatusOr<double>> losses(static_cast<size_t>(members), 0.0);
    ParallelFor(members, options_.jobs,
                [&](int64_t m) { losses[static_cast<size_t>(m)] = TrainMember(m, epoch); });
    EpochReport report;
    report.epoch = epoch;
    report.learning_rate = LearningRate(static_cast<double>(epoch));
    for (const absl::StatusOr<double>& loss : losses) {
      if (!loss.ok()) return loss.status();
      report.loss += *loss / static_cast<double>(members);
    }
    absl::StatusOr<RankingQuality> quality = AssessNetwork(*network_, validation_, options_.jobs);
    if (!quality.ok()) return quality.status();
    report.validation = *quality;
    const int64_t best = BestEpoch();
    report.best = best == 0 || validation_.size() == 0 ||
                  ScoreOf(report) > ScoreOf(epochs_[static_cast<size_t>(best - 1)]);
    return report;
  }

  double ScoreOf(const EpochReport& report) const {
    const RankingQuality& quality = report.validation;
    if (options_.step.loss == Loss::kSquaredError) return -quality.mape;
    return quality.kendall_tau - quality.tile_size_ape / 100;
  }

  // What a checkpoint must have been made with. The number of epochs shapes the learning rate.
  nlohmann::json Identity() const {
    return {{"options", ToJson(options_)},
            {"data", FingerprintText(options_.data_fingerprint)},
            {"kernels", training_.size()}};
  }

  // Of a checkpoint's header, without the checksum, and its networks.
  static std::string ChecksumOf(nlohmann::json header, const std::string& networks) {
    header.erase("checksum");
    return FingerprintText(Fingerprinter().AddText(header.dump()).AddText(networks).Get());
  }

  absl::Status SaveState() const {
    if (options_.checkpoint.empty()) return absl::OkStatus();
    nlohmann::json header = {{"identity", Identity()}, {"epochs", nlohmann::json::array()}};
    for (const EpochReport& report : epochs_) header["epochs"].push_back(ToJson(report));
    const std::string network = network_->Save(/*with_optimizer=*/true);
    header["network_bytes"] = network.size();
    const std::string networks = absl::StrCat(network, best_);
    header["checksum"] = ChecksumOf(header, networks);
    return WriteFileAtomically(options_.checkpoint, absl::StrCat(header.dump(), "\n", networks));
  }

  absl::Status LoadState() {
    if (options_.checkpoint.empty() || access(options_.checkpoint.c_str(), F_OK) != 0) {
      return absl::OkStatus();
    }
    absl::StatusOr<std::string> bytes = ReadWholeFile(options_.checkpoint);
    if (!bytes.ok()) return bytes.status();
    const size_t end = bytes->find('\n');
    const nlohmann::json header =
        nlohmann::json::parse(bytes->substr(0, end), nullptr, /*allow_exceptions=*/false);
    const std::string networks = end == std::string::npos ? "" : bytes->substr(end + 1);
    const bool whole = header.is_object() && header.contains("identity") &&
                       header.contains("epochs") && header.contains("checksum") &&
                       header.contains("network_bytes") &&
                       header["network_bytes"].is_number_unsigned() &&
                       header["network_bytes"].get<size_t>() <= networks.size() &&
                       header["checksum"] == ChecksumOf(header, networks);
    if (!whole) {
      return absl::InvalidArgumentError(
          absl::StrCat(options_.checkpoint,
                       " is no checkpoint, or damaged: remove it to train from the beginning"));
    }
    if (header["identity"] != Identity()) {
      return absl::FailedPreconditionError(
          absl::StrCat(options_.checkpoint,
                       " is the checkpoint of a training with other options or data: remove it, or "
                       "choose another folder"));
    }
    for (const nlohmann::json& entry : header["epochs"]) {
      absl::StatusOr<EpochReport> report = EpochReportFromJson(entry);
      if (!report.ok()) return report.status();
      epochs_.push_back(*report);
    }
    const size_t size = header["network_bytes"].get<size_t>();
    best_ = networks.substr(size);
    std::string error;
    if (network_->Load(networks.substr(0, size), &error)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(options_.checkpoint, ": ", error));
  }

  const ExampleStore& training_;
  const ExampleStore& validation_;
  TrainerOptions options_;
  std::unique_ptr<Network> network_;
  std::vector<EpochReport> epochs_;
  std::string best_;
};

}  // namespace

absl::StatusOr<TrainingResult> TrainNetwork(const ExampleStore& training,
                                            const ExampleStore& validation,
                                            const TrainerOptions& options,
                                            const TrainingProgress& progress) {
  return Training(training, validation, options).Run(progress);
}

}  // namespace autotune
