#ifndef AUTOTUNE_COSTMODEL_FEATURES_H_
#define AUTOTUNE_COSTMODEL_FEATURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "costmodel/analytical_kernel.h"
#include "hardware/device_spec.h"
#include "hlo/kernel.h"
#include "hlo/tile_bounds.h"

namespace autotune {

// What the numbers of a learned model's input mean: names by group, in the order of the arrays.
// Models carry the schema that they were trained with and are refused where it differs.
struct FeatureSchema {
  // "autotune" for the features computed here; other data sets bring their own.
  std::string name = "autotune";
  // Raised whenever a feature is added, removed or changes its meaning.
  int version = 0;
  std::vector<std::string> node;
  std::vector<std::string> kernel;  // static: of the kernel and of the device
  std::vector<std::string> config;
  int64_t opcodes = 0;  // values of the categorical feature of a node

  friend bool operator==(const FeatureSchema&, const FeatureSchema&) = default;
};

// The features of Featurizer. Sizes enter as log2(1 + x), and as remainders by the extents of a
// vector register (8 sublanes x 128 lanes) divided by them, so that all are of order 1 to 50.
const FeatureSchema& TileFeatureSchema();

// A kernel as a graph of its operations, fusions inlined: what of a learned model's input does not
// depend on the configuration. Arrays are row-major. A plain value.
struct KernelGraph {
  std::vector<int32_t> opcodes;        // [nodes]
  std::vector<float> node_features;    // [nodes, schema.node]
  std::vector<int32_t> edge_sources;   // [edges], producers
  std::vector<int32_t> edge_targets;   // [edges], consumers
  std::vector<float> kernel_features;  // [schema.kernel]
  // Nodes that configurations are of, where they are not of the kernel as a whole (layouts).
  std::vector<int32_t> config_nodes;

  int64_t nodes() const { return static_cast<int64_t>(opcodes.size()); }
  int64_t edges() const { return static_cast<int64_t>(edge_sources.size()); }
};

// Pure functions from (kernel, device, configuration) to features. Immutable and thread-safe.
class Featurizer {
 public:
  // Fails as TileGeometry::Create does: a kernel that is not tiled has no features.
  static absl::StatusOr<Featurizer> Create(const Kernel& kernel, const DeviceSpec& device);

  const KernelGraph& graph() const { return graph_; }
  const AnalyticalKernel& analytical() const { return analytical_; }
  const TileGeometry& geometry() const { return analytical_.geometry(); }

  // Writes the features of schema.config. Where the analytical formula says that the time goes is
  // among them; it is returned as well, so that nobody computes it twice. `scratch` spares
  // allocations between calls.
  // REQUIRES: geometry().Check(bounds).ok(), features.size() == schema.config.size().
  AnalyticalEstimate ConfigFeatures(const TileBounds& bounds, const AnalyticalConstants& constants,
                                    absl::Span<float> features, AnalyticalScratch* scratch) const;

 private:
  Featurizer(AnalyticalKernel analytical, KernelGraph graph, const DeviceSpec& device);

  AnalyticalKernel analytical_;
  KernelGraph graph_;
  double vmem_bytes_;
  double clock_hz_;
  // Operands whose windows are described one by one, the largest first; -1 for none.
  std::vector<int> described_operands_;
};

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_FEATURES_H_
