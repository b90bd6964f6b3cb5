#ifndef AUTOTUNE_COSTMODEL_EXAMPLE_H_
#define AUTOTUNE_COSTMODEL_EXAMPLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "costmodel/features.h"
#include "costmodel/network.h"

namespace autotune {

// The graph as the network takes it. Points into `graph`.
GraphView ViewOf(const KernelGraph& graph);

// One kernel of a data set: features and measured times of its configurations, everything that
// training and evaluation need of it. Times are natural logarithms of seconds. A plain value.
struct KernelExample {
  std::string program;  // what data sets are split by: "vgg16" for each of its compilations
  std::string kernel;
  uint64_t fingerprint = 0;
  std::string device;  // "tpu-v3"; may be empty where a data set does not tell
  int64_t count = 1;   // occurrences in the program

  KernelGraph graph;
  // [configs, schema.config], row-major; [configs, graph.config_nodes, schema.config] where these
  // are any.
  std::vector<float> config_features;
  std::vector<float> base;      // [configs]: the analytical model's prediction, or 0
  std::vector<float> target;    // [configs]: measured
  int64_t default_config = -1;  // the compiler's own choice, or -1

  int64_t configs() const { return static_cast<int64_t>(target.size()); }

  // Points into this object.
  GraphView View() const { return ViewOf(graph); }
};

// Approximate bytes in memory.
int64_t MemoryBytes(const KernelExample& example);

// As bytes, for files of this machine only (ExampleStore), and back. InvalidArgument for bytes that
// are damaged.
std::string SerializeExample(const KernelExample& example);
absl::StatusOr<KernelExample> ParseExample(absl::string_view bytes);

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_EXAMPLE_H_
