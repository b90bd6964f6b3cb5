#include "costmodel/npz_layouts.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "costmodel/npz_arrays.h"
#include "costmodel/recorded_examples.h"
#include "hardware/npz_file.h"

namespace autotune {
namespace {

constexpr double kNanosecond = 1e-9;
constexpr int64_t kNodeFeatures = 140;
constexpr int64_t kConfigFeatures = 18;
// Of the configurations of one program that are kept: 64 MiB.
constexpr int64_t kMaxConfigValues = int64_t{1} << 24;

absl::Status ReadConfigNodes(const NpzArrays& arrays, KernelGraph* graph) {
  absl::StatusOr<std::vector<int64_t>> ids = arrays.Integers("node_config_ids", 1);
  if (!ids.ok()) return ids.status();
  if (ids->empty()) return arrays.Error("node_config_ids", "is empty");
  std::vector<bool> named(static_cast<size_t>(graph->nodes()));
  for (const int64_t id : *ids) {
    if (id < 0 || id >= graph->nodes()) {
      return arrays.Error("node_config_ids", absl::StrCat("names a node that is not there: ", id));
    }
    if (named[static_cast<size_t>(id)]) {
      return arrays.Error("node_config_ids", absl::StrCat("names node ", id, " twice"));
    }
    named[static_cast<size_t>(id)] = true;
    graph->config_nodes.push_back(static_cast<int32_t>(id));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> ReadLogTimes(const NpzArrays& arrays) {
  absl::StatusOr<std::vector<int64_t>> times = arrays.Integers("config_runtime", 1);
  if (!times.ok()) return times.status();
  if (times->empty()) return arrays.Error("config_runtime", "is empty");
  std::vector<float> log_times;
  log_times.reserve(times->size());
  for (size_t i = 0; i < times->size(); ++i) {
    if ((*times)[i] <= 0) {
      return arrays.Error("config_runtime", absl::StrCat("is not positive at ", i));
    }
    log_times.push_back(
        static_cast<float>(std::log(static_cast<double>((*times)[i])) + std::log(kNanosecond)));
  }
  return log_times;
}

absl::Status ReadConfigs(const NpzArrays& arrays, int64_t max_configs, KernelExample* example) {
  absl::StatusOr<std::vector<float>> log_times = ReadLogTimes(arrays);
  if (!log_times.ok()) return log_times.status();
  const auto count = static_cast<int64_t>(log_times->size());
  const auto nodes = static_cast<int64_t>(example->graph.config_nodes.size());
  const int64_t most = kMaxConfigValues / (nodes * kConfigFeatures);
  const std::vector<int64_t> rows =
      EvenlySpaced(count, std::min(max_configs, std::max<int64_t>(2, most)));
  absl::StatusOr<std::vector<float>> features =
      arrays.Rows("node_config_feat", {count, nodes, kConfigFeatures}, rows);
  if (!features.ok()) return features.status();
  example->config_features = *std::move(features);
  for (const int64_t row : rows) {
    example->target.push_back((*log_times)[static_cast<size_t>(row)]);
  }
  const double sum = std::accumulate(example->target.begin(), example->target.end(), 0.0);
  example->base.assign(rows.size(), static_cast<float>(sum / static_cast<double>(rows.size())));
  return absl::OkStatus();
}

}  // namespace

const FeatureSchema& TpuGraphsLayoutSchema() {
  static const FeatureSchema* const schema =
      new FeatureSchema{"tpugraphs-layout",
                        1,
                        NumberedFeatures("node_", kNodeFeatures),
                        {},
                        NumberedFeatures("config_", kConfigFeatures),
                        kTpuGraphsOpcodes};
  return *schema;
}

bool IsNpzLayouts(const std::string& path) {
  const absl::StatusOr<std::unique_ptr<NpzReader>> npz = NpzReader::Open(path);
  return npz.ok() && (*npz)->Has("node_config_feat");
}

absl::StatusOr<KernelExample> ReadNpzLayouts(const std::string& path, int64_t max_configs) {
  absl::StatusOr<std::unique_ptr<NpzReader>> npz = NpzReader::Open(path);
  if (!npz.ok()) return npz.status();
  const NpzArrays arrays(path, **npz);
  KernelExample example;
  example.program = ProgramOfFile(path);
  example.kernel = example.program;
  absl::Status status = arrays.ReadGraph(TpuGraphsLayoutSchema(), &example.graph);
  if (status.ok()) status = ReadConfigNodes(arrays, &example.graph);
  if (status.ok()) status = ReadConfigs(arrays, max_configs, &example);
  if (!status.ok()) return status;
  example.fingerprint = FingerprintOfGraph(example.graph);
  return example;
}

TrainerOptions LayoutTrainerOptions() {
  TrainerOptions options;
  options.epochs = 30;
  options.batch_kernels = 1;
  options.kernel_configs = 8;
  options.network.join = Join::kEarly;
  options.network.members = 1;
  options.network.hidden = 32;
  options.network.config_bins = 8;
  options.network.residual_cap = 2;
  options.step.gap_limit = 0.1;
  return options;
}

}  // namespace autotune
