#include "costmodel/npz_examples.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "costmodel/npz_arrays.h"
#include "costmodel/recorded_examples.h"
#include "hardware/atomic_file.h"
#include "hardware/npz_file.h"

namespace autotune {
namespace {

constexpr double kNanosecond = 1e-9;
// What written times are multiplied by, so that rounding does not make different ones equal.
constexpr int64_t kNormalizer = 1000;

// Reads the arrays of one kernel, checking each.
class NpzExampleReader {
 public:
  NpzExampleReader(const std::string& path, const FeatureSchema& schema, const NpzReader& npz)
      : path_(path), schema_(schema), arrays_(path, npz) {}

  absl::StatusOr<KernelExample> Read(int64_t max_configs) {
    example_.program = ProgramOfFile(path_);
    example_.kernel = example_.program;
    absl::Status status = arrays_.ReadGraph(schema_, &example_.graph);
    if (status.ok()) status = ReadKernel();
    if (status.ok()) status = ReadTimes();
    if (status.ok()) status = ReadBase();
    if (status.ok()) status = ReadConfigs(max_configs);
    if (!status.ok()) return status;
    example_.fingerprint = FingerprintOfGraph(example_.graph);
    return std::move(example_);
  }

 private:
  // Not in TpuGraphs' files: static features of the kernel as a whole.
  absl::Status ReadKernel() {
    if (schema_.kernel.empty()) return absl::OkStatus();
    absl::StatusOr<std::vector<float>> features = arrays_.Floats("kernel_feat", 1);
    if (!features.ok()) return features.status();
    if (features->size() != schema_.kernel.size()) {
      return arrays_.Error("kernel_feat",
                           absl::StrCat("must have ", schema_.kernel.size(), " values"));
    }
    example_.graph.kernel_features = *std::move(features);
    return absl::OkStatus();
  }

  // Nor is the analytical model's prediction.
  absl::Status ReadBase() {
    if (schema_.kernel.empty()) {
      base_.assign(log_times_.size(), 0.0f);
      return absl::OkStatus();
    }
    absl::StatusOr<std::vector<float>> base = arrays_.Floats("config_base", 1);
    if (!base.ok()) return base.status();
    base_ = *std::move(base);
    if (base_.size() == log_times_.size()) return absl::OkStatus();
    return arrays_.Error("config_base", "must be as long as config_runtime");
  }

  absl::Status ReadTimes() {
    absl::StatusOr<std::vector<int64_t>> times = arrays_.Integers("config_runtime", 1);
    if (!times.ok()) return times.status();
    absl::StatusOr<std::vector<int64_t>> normalizers =
        arrays_.Integers("config_runtime_normalizers", 1);
    if (!normalizers.ok()) return normalizers.status();
    if (times->size() != normalizers->size()) {
      return arrays_.Error("config_runtime_normalizers", "must be as long as config_runtime");
    }
    for (size_t i = 0; i < times->size(); ++i) {
      if ((*times)[i] <= 0 || (*normalizers)[i] <= 0) {
        return arrays_.Error("config_runtime", absl::StrCat("is not positive at ", i));
      }
      log_times_.push_back(static_cast<float>(std::log(static_cast<double>((*times)[i])) -
                                              std::log(static_cast<double>((*normalizers)[i])) +
                                              std::log(kNanosecond)));
    }
    return absl::OkStatus();
  }

  absl::Status ReadConfigs(int64_t max_configs) {
    const auto count = static_cast<int64_t>(log_times_.size());
    const std::vector<int64_t> rows = EvenlySpaced(count, max_configs);
    absl::StatusOr<std::vector<float>> features =
        arrays_.Rows("config_feat", {count, static_cast<int64_t>(schema_.config.size())}, rows);
    if (!features.ok()) return features.status();
    example_.config_features = *std::move(features);
    for (const int64_t row : rows) {
      example_.target.push_back(log_times_[static_cast<size_t>(row)]);
      example_.base.push_back(base_[static_cast<size_t>(row)]);
    }
    return absl::OkStatus();
  }

  const std::string& path_;
  const FeatureSchema& schema_;
  const NpzArrays arrays_;
  KernelExample example_;
  std::vector<float> log_times_, base_;
};

}  // namespace

const FeatureSchema& TpuGraphsTileSchema() {
  static const FeatureSchema* const schema = new FeatureSchema{
      "tpugraphs-tile", 1, NumberedFeatures("node_", 140), {}, NumberedFeatures("config_", 24),
      kTpuGraphsOpcodes};
  return *schema;
}

absl::StatusOr<KernelExample> ReadNpzExample(const std::string& path, const FeatureSchema& schema,
                                             int64_t max_configs) {
  absl::StatusOr<std::unique_ptr<NpzReader>> npz = NpzReader::Open(path);
  if (!npz.ok()) return npz.status();
  return NpzExampleReader(path, schema, **npz).Read(max_configs);
}

absl::Status WriteNpzExample(const KernelExample& example, const std::string& path) {
  const int64_t nodes = example.graph.nodes(), configs = example.configs();
  if (nodes == 0 || configs == 0) {
    return absl::InvalidArgumentError("an example without nodes or configurations");
  }
  std::vector<int32_t> edges;
  for (size_t e = 0; e < example.graph.edge_sources.size(); ++e) {
    edges.push_back(example.graph.edge_targets[e]);
    edges.push_back(example.graph.edge_sources[e]);
  }
  std::vector<int64_t> times;
  for (const float target : example.target) {
    times.push_back(
        std::max<int64_t>(1, std::llround(kNormalizer * std::exp(double{target}) / kNanosecond)));
  }
  const std::vector<int64_t> normalizers(times.size(), kNormalizer);
  const auto width = [](size_t values, int64_t rows) {
    return static_cast<int64_t>(values) / rows;
  };
  const auto edge_count = static_cast<int64_t>(edges.size()) / 2;
  std::vector<NamedNpyArray> arrays = {
      {"node_feat", NpyArray::OfFloats({nodes, width(example.graph.node_features.size(), nodes)},
                                       example.graph.node_features)},
      {"node_opcode", NpyArray::OfInt32({nodes}, example.graph.opcodes)},
      {"edge_index", NpyArray::OfInt32({edge_count, 2}, edges)},
      {"config_feat", NpyArray::OfFloats({configs, width(example.config_features.size(), configs)},
                                         example.config_features)},
      {"config_runtime", NpyArray::OfInt64({configs}, times)},
      {"config_runtime_normalizers", NpyArray::OfInt64({configs}, normalizers)}};
  if (!example.graph.kernel_features.empty()) {
    const auto features = static_cast<int64_t>(example.graph.kernel_features.size());
    arrays.push_back(
        {"kernel_feat", NpyArray::OfFloats({features}, example.graph.kernel_features)});
    arrays.push_back({"config_base", NpyArray::OfFloats({configs}, example.base)});
  }
  absl::StatusOr<std::string> bytes = SerializeNpz(arrays);
  if (!bytes.ok()) return bytes.status();
  return WriteFileAtomically(path, *bytes);
}

}  // namespace autotune
