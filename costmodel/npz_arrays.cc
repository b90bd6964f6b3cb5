#include "costmodel/npz_arrays.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/fingerprint.h"

namespace autotune {
namespace {

constexpr int64_t kElementsAtATime = int64_t{1} << 17;
// Of what is read as a whole, at most: ten times the features of TpuGraphs' largest program. The
// rows of configurations are streamed and have no limit.
constexpr int64_t kMostElements = int64_t{1} << 26;

}  // namespace

absl::Status NpzArrays::Error(const std::string& array, const std::string& what) const {
  return absl::InvalidArgumentError(absl::StrCat(path_, ": ", array, " ", what));
}

absl::StatusOr<NpyArray> NpzArrays::Array(const std::string& name, size_t axes) const {
  const absl::StatusOr<NpyHeader> header = npz_.ReadHeader(name);
  if (!header.ok()) return absl::InvalidArgumentError(header.status().message());
  if (header->shape.size() != axes) return Error(name, absl::StrCat("must have ", axes, " axes"));
  if (header->ElementCount() > kMostElements) {
    return Error(name, absl::StrCat("has more than ", kMostElements, " elements"));
  }
  absl::StatusOr<NpyArray> array = npz_.Read(name);
  if (!array.ok()) return absl::InvalidArgumentError(array.status().message());
  return array;
}

absl::StatusOr<std::vector<int64_t>> NpzArrays::Integers(const std::string& name,
                                                         size_t axes) const {
  absl::StatusOr<NpyArray> array = Array(name, axes);
  if (!array.ok()) return array.status();
  absl::StatusOr<std::vector<int64_t>> values = array->Integers();
  if (!values.ok()) return Error(name, "must hold whole numbers");
  return values;
}

absl::StatusOr<std::vector<float>> NpzArrays::Floats(const std::string& name, size_t axes) const {
  absl::StatusOr<NpyArray> array = Array(name, axes);
  if (!array.ok()) return array.status();
  std::vector<float> values = array->Floats();
  if (absl::Status status = CheckFinite(name, values); !status.ok()) return status;
  return values;
}

absl::Status NpzArrays::CheckFinite(const std::string& name, absl::Span<const float> values) const {
  const bool finite =
      std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
  return finite ? absl::OkStatus() : Error(name, "has a value that is no number");
}

absl::StatusOr<std::vector<float>> NpzArrays::Rows(const std::string& name,
                                                   const std::vector<int64_t>& shape,
                                                   absl::Span<const int64_t> rows) const {
  absl::StatusOr<std::unique_ptr<NpyStream>> stream = npz_.Stream(name);
  if (!stream.ok()) return absl::InvalidArgumentError(stream.status().message());
  const NpyHeader& header = (*stream)->header();
  if (header.shape != shape) {
    return Error(name, absl::StrCat("must be ", absl::StrJoin(shape, " x ")));
  }
  const int64_t width = header.RowElements();
  const int64_t part = std::max<int64_t>(1, kElementsAtATime / std::max<int64_t>(1, width));
  std::vector<float> kept;
  size_t next = 0;
  for (int64_t first = 0; first < shape[0]; first += part) {
    const int64_t count = std::min(part, shape[0] - first);
    absl::StatusOr<std::string> data = (*stream)->Next(count * width);
    if (!data.ok()) return data.status();
    const std::vector<float> values = NpyFloats(header.type, *data);
    if (static_cast<int64_t>(values.size()) != count * width) return Error(name, "is cut off");
    if (absl::Status status = CheckFinite(name, values); !status.ok()) return status;
    for (; next < rows.size() && rows[next] < first + count; ++next) {
      const auto row = values.begin() + (rows[next] - first) * width;
      kept.insert(kept.end(), row, row + width);
    }
  }
  return kept;
}

absl::Status NpzArrays::ReadGraph(const FeatureSchema& schema, KernelGraph* graph) const {
  absl::Status status = ReadNodes(schema, graph);
  return status.ok() ? ReadEdges(graph) : status;
}

absl::Status NpzArrays::ReadNodes(const FeatureSchema& schema, KernelGraph* graph) const {
  absl::StatusOr<std::vector<int64_t>> opcodes = Integers("node_opcode", 1);
  if (!opcodes.ok()) return opcodes.status();
  if (opcodes->empty()) return Error("node_opcode", "is empty");
  for (const int64_t opcode : *opcodes) {
    if (opcode < 0 || opcode >= schema.opcodes) {
      return Error("node_opcode", absl::StrCat("has the opcode ", opcode));
    }
    graph->opcodes.push_back(static_cast<int32_t>(opcode));
  }
  absl::StatusOr<NpyArray> features = Array("node_feat", 2);
  if (!features.ok()) return features.status();
  const auto width = static_cast<int64_t>(schema.node.size());
  if (features->shape != std::vector<int64_t>{graph->nodes(), width}) {
    return Error("node_feat", absl::StrCat("must be ", graph->nodes(), " x ", width));
  }
  graph->node_features = features->Floats();
  return CheckFinite("node_feat", graph->node_features);
}

absl::Status NpzArrays::ReadEdges(KernelGraph* graph) const {
  absl::StatusOr<NpyArray> array = Array("edge_index", 2);
  if (!array.ok()) return array.status();
  if (array->shape[1] != 2) return Error("edge_index", "must have two columns");
  absl::StatusOr<std::vector<int64_t>> edges = Integers("edge_index", 2);
  if (!edges.ok()) return edges.status();
  for (size_t e = 0; e + 1 < edges->size(); e += 2) {
    const int64_t user = (*edges)[e], producer = (*edges)[e + 1];
    if (std::min(user, producer) < 0 || std::max(user, producer) >= graph->nodes()) {
      return Error("edge_index", "names a node that is not there");
    }
    graph->edge_sources.push_back(static_cast<int32_t>(producer));
    graph->edge_targets.push_back(static_cast<int32_t>(user));
  }
  return absl::OkStatus();
}

std::vector<std::string> NumberedFeatures(const std::string& prefix, int count) {
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) names.push_back(absl::StrCat(prefix, i));
  return names;
}

uint64_t FingerprintOfGraph(const KernelGraph& graph) {
  Fingerprinter fingerprint;
  for (const int32_t opcode : graph.opcodes) fingerprint.AddInt(static_cast<uint64_t>(opcode));
  for (const float feature : graph.node_features) {
    fingerprint.AddInt(static_cast<uint64_t>(std::llround(1000.0 * feature)));
  }
  return fingerprint.Get();
}

std::vector<int64_t> EvenlySpaced(int64_t count, int64_t most) {
  const int64_t kept = std::min(count, std::max<int64_t>(1, most));
  std::vector<int64_t> rows;
  rows.reserve(static_cast<size_t>(kept));
  for (int64_t i = 0; i < kept; ++i) rows.push_back(i * count / kept);
  return rows;
}

}  // namespace autotune
