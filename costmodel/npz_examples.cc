#include "costmodel/npz_examples.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "costmodel/recorded_examples.h"
#include "hardware/atomic_file.h"
#include "hardware/npz_file.h"
#include "hlo/fingerprint.h"

namespace autotune {
namespace {

constexpr double kNanosecond = 1e-9;
constexpr int64_t kTpuGraphsOpcodes = 256;  // more than it uses
// What written times are multiplied by, so that rounding does not make different ones equal.
constexpr int64_t kNormalizer = 1000;

// Rows of the configurations' features that are read at a time.
constexpr int64_t kRowsAtATime = 4096;

std::vector<std::string> Numbered(const std::string& prefix, int count) {
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) names.push_back(absl::StrCat(prefix, i));
  return names;
}

// Reads the arrays of one kernel, checking each.
class NpzExampleReader {
 public:
  NpzExampleReader(const std::string& path, const FeatureSchema& schema, const NpzReader& npz)
      : path_(path), schema_(schema), npz_(npz) {}

  absl::StatusOr<KernelExample> Read(int64_t max_configs) {
    example_.program = ProgramOfFile(path_);
    example_.kernel = example_.program;
    absl::Status status = ReadNodes();
    if (status.ok()) status = ReadEdges();
    if (status.ok()) status = ReadKernel();
    if (status.ok()) status = ReadTimes();
    if (status.ok()) status = ReadBase();
    if (status.ok()) ChooseRows(max_configs);
    if (status.ok()) status = ReadConfigs();
    if (!status.ok()) return status;
    Fingerprinter fingerprint;
    for (const int32_t opcode : example_.graph.opcodes) {
      fingerprint.AddInt(static_cast<uint64_t>(opcode));
    }
    for (const float feature : example_.graph.node_features) {
      fingerprint.AddInt(static_cast<uint64_t>(std::llround(1000.0 * feature)));
    }
    example_.fingerprint = fingerprint.Get();
    return std::move(example_);
  }

 private:
  absl::Status Error(const std::string& array, const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": ", array, " ", what));
  }

  absl::StatusOr<NpyArray> Array(const std::string& name, size_t axes) const {
    absl::StatusOr<NpyArray> array = npz_.Read(name);
    if (!array.ok()) return absl::InvalidArgumentError(array.status().message());
    if (array->shape.size() != axes) return Error(name, absl::StrCat("must have ", axes, " axes"));
    return array;
  }

  absl::StatusOr<std::vector<int64_t>> Integers(const std::string& name, size_t axes) const {
    absl::StatusOr<NpyArray> array = Array(name, axes);
    if (!array.ok()) return array.status();
    absl::StatusOr<std::vector<int64_t>> values = array->Integers();
    if (!values.ok()) return Error(name, "must hold whole numbers");
    return values;
  }

  absl::Status ReadNodes() {
    absl::StatusOr<std::vector<int64_t>> opcodes = Integers("node_opcode", 1);
    if (!opcodes.ok()) return opcodes.status();
    if (opcodes->empty()) return Error("node_opcode", "is empty");
    for (const int64_t opcode : *opcodes) {
      if (opcode < 0 || opcode >= schema_.opcodes) {
        return Error("node_opcode", absl::StrCat("has the opcode ", opcode));
      }
      example_.graph.opcodes.push_back(static_cast<int32_t>(opcode));
    }
    absl::StatusOr<NpyArray> features = Array("node_feat", 2);
    if (!features.ok()) return features.status();
    const auto width = static_cast<int64_t>(schema_.node.size());
    if (features->shape != std::vector<int64_t>{example_.graph.nodes(), width}) {
      return Error("node_feat", absl::StrCat("must be ", example_.graph.nodes(), " x ", width));
    }
    example_.graph.node_features = features->Floats();
    return absl::OkStatus();
  }

  absl::Status ReadEdges() {
    absl::StatusOr<std::vector<int64_t>> edges = Integers("edge_index", 2);
    if (!edges.ok()) return edges.status();
    if (edges->size() % 2 != 0) return Error("edge_index", "must have two columns");
    for (size_t e = 0; e + 1 < edges->size(); e += 2) {
      const int64_t user = (*edges)[e], producer = (*edges)[e + 1];
      if (std::min(user, producer) < 0 || std::max(user, producer) >= example_.graph.nodes()) {
        return Error("edge_index", "names a node that is not there");
      }
      example_.graph.edge_sources.push_back(static_cast<int32_t>(producer));
      example_.graph.edge_targets.push_back(static_cast<int32_t>(user));
    }
    return absl::OkStatus();
  }

  // Not in TpuGraphs' files: static features of the kernel as a whole.
  absl::Status ReadKernel() {
    if (schema_.kernel.empty()) return absl::OkStatus();
    absl::StatusOr<NpyArray> features = Array("kernel_feat", 1);
    if (!features.ok()) return features.status();
    if (features->shape[0] != static_cast<int64_t>(schema_.kernel.size())) {
      return Error("kernel_feat", absl::StrCat("must have ", schema_.kernel.size(), " values"));
    }
    example_.graph.kernel_features = features->Floats();
    return absl::OkStatus();
  }

  // Nor is the analytical model's prediction.
  absl::Status ReadBase() {
    if (schema_.kernel.empty()) {
      base_.assign(log_times_.size(), 0.0f);
      return absl::OkStatus();
    }
    absl::StatusOr<NpyArray> base = Array("config_base", 1);
    if (!base.ok()) return base.status();
    base_ = base->Floats();
    if (base_.size() == log_times_.size()) return absl::OkStatus();
    return Error("config_base", "must be as long as config_runtime");
  }

  absl::Status ReadTimes() {
    absl::StatusOr<std::vector<int64_t>> times = Integers("config_runtime", 1);
    if (!times.ok()) return times.status();
    absl::StatusOr<std::vector<int64_t>> normalizers = Integers("config_runtime_normalizers", 1);
    if (!normalizers.ok()) return normalizers.status();
    if (times->size() != normalizers->size()) {
      return Error("config_runtime_normalizers", "must be as long as config_runtime");
    }
    for (size_t i = 0; i < times->size(); ++i) {
      if ((*times)[i] <= 0 || (*normalizers)[i] <= 0) {
        return Error("config_runtime", absl::StrCat("is not positive at ", i));
      }
      log_times_.push_back(static_cast<float>(std::log(static_cast<double>((*times)[i])) -
                                              std::log(static_cast<double>((*normalizers)[i])) +
                                              std::log(kNanosecond)));
    }
    return absl::OkStatus();
  }

  void ChooseRows(int64_t max_configs) {
    const auto count = static_cast<int64_t>(log_times_.size());
    const int64_t kept = std::min(count, std::max<int64_t>(1, max_configs));
    for (int64_t i = 0; i < kept; ++i) rows_.push_back(i * count / kept);
  }

  absl::Status ReadConfigs() {
    absl::StatusOr<std::unique_ptr<NpyStream>> stream = npz_.Stream("config_feat");
    if (!stream.ok()) return absl::InvalidArgumentError(stream.status().message());
    const NpyHeader& header = (*stream)->header();
    const auto width = static_cast<int64_t>(schema_.config.size());
    const auto count = static_cast<int64_t>(log_times_.size());
    if (header.shape != std::vector<int64_t>{count, width}) {
      return Error("config_feat", absl::StrCat("must be ", count, " x ", width));
    }
    size_t next = 0;
    for (int64_t first = 0; first < count; first += kRowsAtATime) {
      const int64_t rows = std::min(kRowsAtATime, count - first);
      absl::StatusOr<std::string> data = (*stream)->Next(rows * width);
      if (!data.ok()) return data.status();
      const std::vector<float> values = NpyFloats(header.type, *data);
      for (; next < rows_.size() && rows_[next] < first + rows; ++next) {
        const auto row = values.begin() + (rows_[next] - first) * width;
        example_.config_features.insert(example_.config_features.end(), row, row + width);
        example_.target.push_back(log_times_[static_cast<size_t>(rows_[next])]);
        example_.base.push_back(base_[static_cast<size_t>(rows_[next])]);
      }
    }
    return absl::OkStatus();
  }

  const std::string& path_;
  const FeatureSchema& schema_;
  const NpzReader& npz_;
  KernelExample example_;
  std::vector<float> log_times_, base_;
  std::vector<int64_t> rows_;
};

}  // namespace

const FeatureSchema& TpuGraphsTileSchema() {
  static const FeatureSchema* const schema = new FeatureSchema{
      "tpugraphs-tile", 1, Numbered("node_", 140), {}, Numbered("config_", 24), kTpuGraphsOpcodes};
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
