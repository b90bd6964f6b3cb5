#include "tuner/fusion_evaluate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "costmodel/fusion_time_model.h"
#include "costmodel/fusion_training.h"
#include "costmodel/rank_metrics.h"
#include "costmodel/recorded_examples.h"
#include "hardware/device_spec.h"
#include "nlohmann/json.hpp"
#include "search/fusion_scorer.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

constexpr double kLeastSeconds = 5e-6;

FusionQuality QualityOf(const std::vector<double>& truth, const std::vector<double>& predicted) {
  FusionQuality quality;
  quality.kernels = static_cast<int64_t>(truth.size());
  if (truth.empty()) return quality;
  std::vector<double> errors;
  for (size_t i = 0; i < truth.size(); ++i) {
    errors.push_back(100 * std::abs(predicted[i] / truth[i] - 1));
    quality.mape += errors.back() / static_cast<double>(truth.size());
  }
  quality.median_ape = MedianOf(errors);
  quality.kendall_tau = KendallTau(predicted, truth).value_or(0);
  return quality;
}

// One program's recorded kernels under one model.
class Judge {
 public:
  Judge(const FusionData& data, const DeviceSpec& device)
      : groups_(RecordedGroups(data.graph, data.recording)),
        weights_(OverlapWeights(data.graph, device)) {}

  FusionQuality Assess(const std::vector<double>& expected, int64_t known) const {
    FusionOverlapModel overlap(weights_);
    std::set<uint64_t> seen;
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i].entry >= known) continue;
      overlap.Add(groups_[i].group.nodes, std::log(groups_[i].seconds / expected[i]));
      seen.insert(groups_[i].fingerprint);
    }
    std::vector<double> truth, predicted;
    for (size_t i = 0; i < groups_.size(); ++i) {
      const FusionRecordedGroup& group = groups_[i];
      if (group.entry < known || group.seconds < kLeastSeconds) continue;
      if (group.fingerprint != 0 && !seen.insert(group.fingerprint).second) continue;
      truth.push_back(group.seconds);
      predicted.push_back(expected[i] * std::exp(overlap.Correction(group.group.nodes)));
    }
    return QualityOf(truth, predicted);
  }

  std::vector<double> Expect(const std::function<double(const FusionGroup&)>& model) const {
    std::vector<double> seconds;
    for (const FusionRecordedGroup& group : groups_) seconds.push_back(model(group.group));
    return seconds;
  }

 private:
  const std::vector<FusionRecordedGroup> groups_;
  const std::vector<double> weights_;
};

// The kernels of all programs count alike, the programs' taus too.
FusionQuality OverAll(const std::vector<FusionQuality>& programs) {
  FusionQuality all;
  double with_tau = 0;
  std::vector<double> medians;
  for (const FusionQuality& quality : programs) {
    all.kernels += quality.kernels;
    all.mape += quality.mape * static_cast<double>(quality.kernels);
    if (quality.kernels < 2) continue;
    all.kendall_tau += quality.kendall_tau;
    medians.push_back(quality.median_ape);
    ++with_tau;
  }
  if (all.kernels > 0) all.mape /= static_cast<double>(all.kernels);
  if (with_tau > 0) all.kendall_tau /= with_tau;
  if (!medians.empty()) all.median_ape = MedianOf(medians);
  return all;
}

std::vector<FusionProgramQuality> WithTotals(const std::vector<FusionProgramQuality>& qualities) {
  std::vector<FusionProgramQuality> rows = qualities;
  for (const char* model : {"roofline", "learned"}) {
    FusionProgramQuality total{"all", model, {}};
    for (size_t k = 0; k < std::size(kFusionKnown); ++k) {
      std::vector<FusionQuality> programs;
      for (const FusionProgramQuality& row : qualities) {
        if (row.model == model) programs.push_back(row.quality[k]);
      }
      if (programs.empty()) break;
      total.quality.push_back(OverAll(programs));
    }
    if (!total.quality.empty()) rows.push_back(std::move(total));
  }
  return rows;
}

}  // namespace

absl::StatusOr<std::vector<FusionProgramQuality>> AssessFusionModels(const FusionPair& pair,
                                                                     const Network* network) {
  absl::StatusOr<FusionData> data = ReadFusionPair(pair);
  if (!data.ok()) return data.status();
  absl::StatusOr<DeviceSpec> device = FindDeviceSpec(data->recording.origin().device);
  if (!device.ok()) return device.status();
  const Judge judge(*data, *device);
  const FusionFeaturizer featurizer(&data->graph, *device);
  std::map<std::string, std::vector<double>> expected;
  expected["roofline"] = judge.Expect(
      [&featurizer](const FusionGroup& group) { return featurizer.RooflineSeconds(group); });
  if (network != nullptr) {
    const FusionTimeModel model(network, &data->graph, *device);
    expected["learned"] =
        judge.Expect([&model](const FusionGroup& group) { return model.Seconds(group); });
  }
  std::vector<FusionProgramQuality> result;
  for (const auto& [name, seconds] : expected) {
    FusionProgramQuality row{ProgramOfFile(pair.recording), name, {}};
    for (int64_t known : kFusionKnown) row.quality.push_back(judge.Assess(seconds, known));
    result.push_back(std::move(row));
  }
  return result;
}

namespace {

// A program's rows, one a seed, by model.
using RowsByModel = std::map<std::string, std::vector<FusionProgramQuality>>;

// Trains without every kFusionFolds-th program and judges those.
absl::Status JudgeFold(absl::Span<const FusionPair> pairs, size_t fold, uint64_t seed, int jobs,
                       const std::string& scratch, std::vector<RowsByModel>* rows) {
  std::vector<std::string> held_out;
  for (size_t i = fold; i < pairs.size(); i += kFusionFolds) {
    held_out.push_back(ProgramOfFile(pairs[i].recording));
  }
  absl::StatusOr<std::unique_ptr<Network>> network =
      TrainFusionWithout(pairs, held_out, seed, jobs, scratch);
  if (!network.ok()) return network.status();
  for (size_t i = fold; i < pairs.size(); i += kFusionFolds) {
    absl::StatusOr<std::vector<FusionProgramQuality>> judged =
        AssessFusionModels(pairs[i], network->get());
    if (!judged.ok()) return judged.status();
    for (FusionProgramQuality& row : *judged) {
      std::vector<FusionProgramQuality>& of_model = (*rows)[i][row.model];
      of_model.push_back(std::move(row));
    }
  }
  return absl::OkStatus();
}

FusionProgramQuality MedianQuality(const std::vector<FusionProgramQuality>& of_seeds) {
  FusionProgramQuality median = of_seeds.front();
  for (size_t k = 0; k < median.quality.size(); ++k) {
    const auto of = [&of_seeds, k](double FusionQuality::*member) {
      std::vector<double> values;
      values.reserve(of_seeds.size());
      for (const FusionProgramQuality& row : of_seeds) values.push_back(row.quality[k].*member);
      return MedianOf(values);
    };
    median.quality[k].mape = of(&FusionQuality::mape);
    median.quality[k].median_ape = of(&FusionQuality::median_ape);
    median.quality[k].kendall_tau = of(&FusionQuality::kendall_tau);
  }
  return median;
}

}  // namespace

absl::StatusOr<std::vector<FusionProgramQuality>> CrossValidateFusion(
    absl::Span<const FusionPair> pairs, int64_t seeds, int jobs, const std::string& scratch) {
  std::vector<RowsByModel> rows(pairs.size());
  for (int64_t seed = 1; seed <= seeds; ++seed) {
    for (size_t fold = 0; fold < std::min(kFusionFolds, pairs.size()); ++fold) {
      if (absl::Status status =
              JudgeFold(pairs, fold, static_cast<uint64_t>(seed), jobs, scratch, &rows);
          !status.ok()) {
        return status;
      }
    }
  }
  std::vector<FusionProgramQuality> result;
  for (const RowsByModel& of_program : rows) {
    for (const auto& [model, of_seeds] : of_program) result.push_back(MedianQuality(of_seeds));
  }
  return result;
}

std::string FusionQualityText(const std::vector<FusionProgramQuality>& qualities) {
  TextTable table;
  table.Column("program", TextTable::Align::kLeft).Column("model", TextTable::Align::kLeft);
  for (int64_t known : kFusionKnown) {
    table.Column(absl::StrCat("known ", known, ": kernels")).Column("MAPE %").Column("median %");
    table.Column("tau");
  }
  for (const FusionProgramQuality& row : WithTotals(qualities)) {
    std::vector<std::string> cells = {row.program, row.model};
    for (const FusionQuality& quality : row.quality) {
      cells.push_back(absl::StrCat(quality.kernels));
      cells.push_back(absl::StrFormat("%.1f", quality.mape));
      cells.push_back(absl::StrFormat("%.1f", quality.median_ape));
      cells.push_back(absl::StrFormat("%.3f", quality.kendall_tau));
    }
    table.Row(std::move(cells));
  }
  return absl::StrCat(
      "Kernels of at least 5 us that had not occurred after so many compilations of the program.\n",
      table.ToString());
}

nlohmann::json FusionQualityJson(const std::vector<FusionProgramQuality>& qualities) {
  nlohmann::json rows = nlohmann::json::array();
  for (const FusionProgramQuality& row : WithTotals(qualities)) {
    for (size_t k = 0; k < row.quality.size(); ++k) {
      rows.push_back({{"program", row.program},
                      {"model", row.model},
                      {"known", kFusionKnown[k]},
                      {"kernels", row.quality[k].kernels},
                      {"mape", row.quality[k].mape},
                      {"median_ape", row.quality[k].median_ape},
                      {"kendall_tau", row.quality[k].kendall_tau}});
    }
  }
  return {{"schema", "autotune.fusion-evaluation/1"}, {"time_source", "estimate"}, {"rows", rows}};
}

}  // namespace autotune
