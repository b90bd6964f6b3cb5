#include "costmodel/example.h"

#include <cstring>
#include <type_traits>

#include "absl/status/status.h"

namespace autotune {
namespace {

// Both directions visit the fields through one function, so that they cannot disagree.
template <typename Example, typename Visitor>
void VisitFields(Example& example, Visitor& visit) {
  visit(example.program);
  visit(example.kernel);
  visit(example.fingerprint);
  visit(example.device);
  visit(example.count);
  visit(example.graph.opcodes);
  visit(example.graph.node_features);
  visit(example.graph.edge_sources);
  visit(example.graph.edge_targets);
  visit(example.graph.kernel_features);
  visit(example.graph.config_nodes);
  visit(example.config_features);
  visit(example.base);
  visit(example.target);
  visit(example.default_config);
}

class Writer {
 public:
  template <typename Field>
  void operator()(const Field& field) {
    if constexpr (std::is_arithmetic_v<Field>) {
      Append(&field, sizeof(field));
    } else {
      const uint64_t size = field.size();
      Append(&size, sizeof(size));
      Append(field.data(), size * sizeof(*field.data()));
    }
  }
  std::string bytes;

 private:
  void Append(const void* data, size_t size) {
    if (size > 0) bytes.append(static_cast<const char*>(data), size);
  }
};

class Reader {
 public:
  explicit Reader(absl::string_view bytes) : bytes_(bytes) {}

  template <typename Field>
  void operator()(Field& field) {
    if constexpr (std::is_arithmetic_v<Field>) {
      Take(&field, sizeof(field));
    } else {
      uint64_t size = 0;
      Take(&size, sizeof(size));
      if (size > bytes_.size() / sizeof(*field.data())) ok_ = false;
      if (!ok_) return;
      field.resize(size);
      Take(field.data(), size * sizeof(*field.data()));
    }
  }
  bool Complete() const { return ok_ && bytes_.empty(); }

 private:
  void Take(void* data, size_t size) {
    if (size > bytes_.size()) ok_ = false;
    if (!ok_ || size == 0) return;
    std::memcpy(data, bytes_.data(), size);
    bytes_.remove_prefix(size);
  }

  absl::string_view bytes_;
  bool ok_ = true;
};

}  // namespace

GraphView ViewOf(const KernelGraph& graph) {
  GraphView view;
  view.nodes = graph.nodes();
  view.opcodes = graph.opcodes.data();
  view.features = graph.node_features.data();
  view.edges = graph.edges();
  view.sources = graph.edge_sources.data();
  view.targets = graph.edge_targets.data();
  view.kernel_features = graph.kernel_features.data();
  view.config_nodes = static_cast<int64_t>(graph.config_nodes.size());
  view.config_node_ids = graph.config_nodes.data();
  return view;
}

int64_t MemoryBytes(const KernelExample& example) {
  const size_t words = example.graph.opcodes.size() + example.graph.node_features.size() +
                       example.graph.edge_sources.size() + example.graph.edge_targets.size() +
                       example.graph.kernel_features.size() + example.graph.config_nodes.size() +
                       example.config_features.size() + example.base.size() + example.target.size();
  return static_cast<int64_t>(sizeof(example) + 4 * words + example.program.size() +
                              example.kernel.size());
}

std::string SerializeExample(const KernelExample& example) {
  Writer writer;
  VisitFields(example, writer);
  return std::move(writer.bytes);
}

absl::StatusOr<KernelExample> ParseExample(absl::string_view bytes) {
  KernelExample example;
  Reader reader(bytes);
  VisitFields(example, reader);
  if (!reader.Complete()) return absl::InvalidArgumentError("an example is damaged");
  return example;
}

}  // namespace autotune
