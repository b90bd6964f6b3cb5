#ifndef AUTOTUNE_COSTMODEL_NPZ_ARRAYS_H_
#define AUTOTUNE_COSTMODEL_NPZ_ARRAYS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "costmodel/features.h"
#include "hardware/npz_file.h"

namespace autotune {

// What TpuGraphs' two collections share: named arrays, checked, and the graph. Errors are
// InvalidArgument and name file and array.
class NpzArrays {
 public:
  // Both must outlive this object. `path` is for errors.
  NpzArrays(const std::string& path, const NpzReader& npz) : path_(path), npz_(npz) {}

  // "PATH: ARRAY WHAT".
  absl::Status Error(const std::string& array, const std::string& what) const;

  // An array of so many axes; the same of whole numbers; the same of finite numbers.
  absl::StatusOr<NpyArray> Array(const std::string& name, size_t axes) const;
  absl::StatusOr<std::vector<int64_t>> Integers(const std::string& name, size_t axes) const;
  absl::StatusOr<std::vector<float>> Floats(const std::string& name, size_t axes) const;
  // That all values are finite.
  absl::Status CheckFinite(const std::string& name, absl::Span<const float> values) const;

  // Of a floating-point array of this shape those entries along the first axis that `rows` names,
  // ascending. The array is read in parts: it may be larger than the memory.
  absl::StatusOr<std::vector<float>> Rows(const std::string& name,
                                          const std::vector<int64_t>& shape,
                                          absl::Span<const int64_t> rows) const;

  // Opcodes, node features and edges: `node_opcode` (n), `node_feat` (n, schema.node) and
  // `edge_index` (m, 2), from users to what they consume. Nothing else of the graph is touched.
  absl::Status ReadGraph(const FeatureSchema& schema, KernelGraph* graph) const;

 private:
  absl::Status ReadNodes(const FeatureSchema& schema, KernelGraph* graph) const;
  absl::Status ReadEdges(KernelGraph* graph) const;

  const std::string& path_;
  const NpzReader& npz_;
};

// Opcodes of TpuGraphs' features: more than it uses.
inline constexpr int64_t kTpuGraphsOpcodes = 256;

// "PREFIX0" and so on: features whose meaning TpuGraphs documents.
std::vector<std::string> NumberedFeatures(const std::string& prefix, int count);

// A fingerprint of opcodes and node features, for files that bring none.
uint64_t FingerprintOfGraph(const KernelGraph& graph);

// Which of `count` configurations are kept where at most `most` may be: evenly spaced, ascending.
std::vector<int64_t> EvenlySpaced(int64_t count, int64_t most);

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_NPZ_ARRAYS_H_
