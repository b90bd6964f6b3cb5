// Map of this file: SumOf adds up a group; Describe turns the sums into features of the group,
// WriteNode those of an operation.

#include "costmodel/fusion_features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "hlo/cost_analysis.h"

namespace autotune {
namespace {

constexpr int kSchemaVersion = 1;
// Extents of a value that are described, from the minor end.
constexpr int kExtents = 3;
constexpr double kLeastSeconds = 1e-7;

double Log(double value) { return std::log2(1 + std::max(0.0, value)); }

std::vector<std::string> NodeNames() {
  std::vector<std::string> names = {"is_read",   "is_written",    "element_bytes",
                                    "rank",      "log_elements",  "log_padded_elements",
                                    "lane_use",  "sublane_use",   "log_registers",
                                    "log_users", "reduces_minor", "log_window"};
  for (int i = 0; i < kExtents; ++i) names.push_back(absl::StrCat("log_extent_", i));
  return names;
}

}  // namespace

// What is summed up over a group.
struct FusionFeaturizer::Sums {
  std::array<double, FusionOperation::kKinds> registers = {};
  std::array<int, FusionOperation::kKinds> counts = {};
  double vector_seconds = 0, product_seconds = 0;
  double bytes_read = 0, bytes_written = 0, padded_read = 0, padded_written = 0;
  double largest_read = 0, second_read = 0, largest_written = 0;
  double narrow_bytes = 0;  // of elements of at most 16 bits
  int reads = 0, writes = 0, operations = 0, products = 0;
  const Shape* written = nullptr;  // the largest
  const Shape* read = nullptr;
  double largest_product = 0;
  const MatrixProduct* product = nullptr;
};

std::vector<std::string> FusionFeaturizer::GroupNames() {
  std::vector<std::string> names = {"log_roofline",      "log_product",     "log_vector",
                                    "log_transfer",      "log_sum",         "product_share",
                                    "vector_share",      "transfer_share",  "log_bytes_read",
                                    "log_bytes_written", "log_padded_read", "log_padded_written",
                                    "log_largest_read",  "log_second_read", "log_largest_written",
                                    "log_operations",    "log_reads",       "log_writes",
                                    "products",          "narrow_share"};
  for (const char* kind : kFusionKindNames) {
    names.push_back(absl::StrCat("log_registers_", kind));
    names.push_back(absl::StrCat("log_count_", kind));
  }
  for (const char* of : {"written", "read"}) {
    for (int i = 0; i < kExtents; ++i) names.push_back(absl::StrCat("log_extent_", i, "_", of));
    for (const char* name : {"lane_use_", "sublane_use_", "rank_", "element_bytes_"}) {
      names.push_back(absl::StrCat(name, of));
    }
  }
  for (const char* name :
       {"log_rows", "log_columns", "log_contracted", "log_batch", "log_window", "log_stride",
        "log_dilation", "log_groups", "use_columns", "use_contracted", "use_rows"}) {
    names.push_back(absl::StrCat("product_", name));
  }
  return names;
}

const FeatureSchema& FusionFeatureSchema() {
  static const auto* const kSchema =
      new FeatureSchema{"autotune-fusion", kSchemaVersion,
                        NodeNames(),       FusionFeaturizer::GroupNames(),
                        {"none"},          TileFeatureSchema().opcodes};
  return *kSchema;
}

FusionFeaturizer::FusionFeaturizer(const FusionGraph* graph, const DeviceSpec& device)
    : graph_(graph), bandwidth_(device.hbm_bytes_per_second) {
  const CostAnalysis analysis(graph->module());
  nodes_.reserve(graph->nodes().size());
  for (const FusionNode& node : graph->nodes()) {
    nodes_.push_back(DescribeOperation(node, analysis.Of(*node.instruction).flops, device));
  }
}

void FusionFeaturizer::AddMember(int32_t index, Sums* sums) const {
  const FusionOperation& node = nodes_[static_cast<size_t>(index)];
  if (graph_->nodes()[static_cast<size_t>(index)].free) return;
  ++sums->operations;
  ++sums->counts[static_cast<size_t>(node.kind)];
  sums->registers[static_cast<size_t>(node.kind)] += node.registers;
  sums->vector_seconds += node.vector_seconds;
  sums->product_seconds += node.product_seconds;
  if (!node.product) return;
  ++sums->products;
  if (node.product_seconds < sums->largest_product) return;
  sums->largest_product = node.product_seconds;
  sums->product = &*node.product;
}

void FusionFeaturizer::AddWritten(int32_t index, Sums* sums) const {
  const FusionOperation& node = nodes_[static_cast<size_t>(index)];
  if (node.bytes == 0) return;
  const HloInstruction& op = *graph_->nodes()[static_cast<size_t>(index)].instruction;
  // In place.
  const double bytes = op.opcode() == HloOpcode::kDynamicUpdateSlice
                           ? static_cast<double>(op.operand(1).shape().ByteSize())
                           : node.bytes;
  ++sums->writes;
  sums->bytes_written += bytes;
  sums->padded_written += node.padded_bytes * bytes / node.bytes;
  if (BytesPerElement(op.shape()) <= 2) sums->narrow_bytes += bytes;
  if (!op.shape().IsArray() || bytes < sums->largest_written) return;
  sums->largest_written = bytes;
  sums->written = &op.shape();
}

void FusionFeaturizer::AddRead(const FusionGroup& group, int32_t index, Sums* sums) const {
  const FusionOperation& value = nodes_[static_cast<size_t>(index)];
  if (value.bytes == 0) return;
  const HloInstruction& op = *graph_->nodes()[static_cast<size_t>(index)].instruction;
  double bytes = -1;  // the most that any member reads of it
  for (const HloInstruction* user : op.users()) {
    if (!std::binary_search(group.nodes.begin(), group.nodes.end(), graph_->NodeOf(user))) continue;
    const double part = &user->operand(0) == &op ? PartRead(*user) : -1;
    bytes = std::max(bytes, part >= 0 ? std::min(part, value.bytes) : value.bytes);
  }
  if (bytes < 0) bytes = value.bytes;  // read through what is in no kernel
  ++sums->reads;
  sums->bytes_read += bytes;
  sums->padded_read += value.padded_bytes * bytes / value.bytes;
  if (BytesPerElement(op.shape()) <= 2) sums->narrow_bytes += bytes;
  if (bytes < sums->largest_read) {
    sums->second_read = std::max(sums->second_read, bytes);
    return;
  }
  sums->second_read = sums->largest_read;
  sums->largest_read = bytes;
  if (op.shape().IsArray()) sums->read = &op.shape();
}

FusionFeaturizer::Sums FusionFeaturizer::SumOf(const FusionGroup& group) const {
  Sums sums;
  for (int32_t node : group.nodes) AddMember(node, &sums);
  for (int32_t node : group.written) AddWritten(node, &sums);
  for (int32_t node : group.read) AddRead(group, node, &sums);
  return sums;
}

double FusionFeaturizer::RooflineOf(const Sums& sums) const {
  return std::max(
      {sums.product_seconds, (sums.bytes_read + sums.bytes_written) / bandwidth_, kLeastSeconds});
}

double FusionFeaturizer::RooflineSeconds(const FusionGroup& group) const {
  return RooflineOf(SumOf(group));
}

std::vector<float> FusionFeaturizer::Describe(const Sums& sums) const {
  std::vector<float> features;
  const auto add = [&](double value) { features.push_back(static_cast<float>(value)); };
  const double bytes = sums.bytes_read + sums.bytes_written;
  const double transfer = bytes / bandwidth_;
  const double sum = sums.product_seconds + sums.vector_seconds + transfer + 1e-9;
  for (double seconds :
       {RooflineOf(sums), sums.product_seconds, sums.vector_seconds, transfer, sum}) {
    add(Log(1e9 * seconds));
  }
  for (double part : {sums.product_seconds, sums.vector_seconds, transfer}) add(part / sum);
  for (double value : {sums.bytes_read, sums.bytes_written, sums.padded_read, sums.padded_written,
                       sums.largest_read, sums.second_read, sums.largest_written}) {
    add(Log(value));
  }
  for (int count : {sums.operations, sums.reads, sums.writes}) add(Log(count));
  add(std::min(sums.products, 4));
  add(bytes > 0 ? sums.narrow_bytes / bytes : 0);
  for (size_t kind = 0; kind < FusionOperation::kKinds; ++kind) {
    add(Log(sums.registers[kind]));
    add(Log(sums.counts[kind]));
  }
  static const Shape kNoShape = Shape::Array(proto::F32, {});
  for (const Shape* found : {sums.written, sums.read}) {
    const Shape& shape = found != nullptr ? *found : kNoShape;
    for (int i = 0; i < kExtents; ++i) add(Log(ExtentOf(shape, i)));
    add(UseOf(ExtentOf(shape, 0), kVectorLanes));
    add(UseOf(ExtentOf(shape, 1), kVectorSublanes));
    add(static_cast<double>(shape.rank()));
    add(BytesPerElement(shape));
  }
  const MatrixProduct product = sums.product != nullptr ? *sums.product : MatrixProduct();
  for (double value : {product.rows, product.columns, product.contracted, product.batch,
                       product.window, product.stride, product.dilation, product.groups}) {
    add(Log(value));
  }
  add(UseOf(product.columns, kVectorLanes));
  add(UseOf(product.contracted, kVectorLanes));
  add(UseOf(product.rows, kVectorSublanes));
  return features;
}

void FusionFeaturizer::WriteNode(int32_t index, bool read, bool written, KernelGraph* graph) const {
  const HloInstruction& op = *graph_->nodes()[static_cast<size_t>(index)].instruction;
  const FusionOperation& node = nodes_[static_cast<size_t>(index)];
  static const Shape kNoShape = Shape::Array(proto::F32, {});
  const Shape& shape = op.shape().IsArray() ? op.shape() : kNoShape;
  graph->opcodes.push_back(static_cast<int32_t>(read ? HloOpcode::kParameter : op.opcode()));
  const auto add = [&](double value) { graph->node_features.push_back(static_cast<float>(value)); };
  add(read ? 1 : 0);
  add(written ? 1 : 0);
  add(BytesPerElement(shape));
  add(static_cast<double>(shape.rank()));
  add(Log(static_cast<double>(shape.ElementsIn())));
  add(Log(PaddedElements(shape)));
  add(UseOf(ExtentOf(shape, 0), kVectorLanes));
  add(UseOf(ExtentOf(shape, 1), kVectorSublanes));
  add(read ? 0 : Log(node.registers));
  add(Log(static_cast<double>(op.users().size())));
  add(!read && node.kind == FusionOperation::kReduceMinor ? 1 : 0);
  add(read ? 0 : Log(WindowSize(op)) - 1);
  for (int i = 0; i < kExtents; ++i) add(Log(ExtentOf(shape, i)));
}

KernelGraph FusionFeaturizer::GraphOf(const FusionGroup& group, double* roofline) const {
  KernelGraph graph;
  const Sums sums = SumOf(group);
  if (roofline != nullptr) *roofline = RooflineOf(sums);
  graph.kernel_features = Describe(sums);
  absl::flat_hash_map<int32_t, int32_t> place;
  for (int32_t node : group.read) {
    if (nodes_[static_cast<size_t>(node)].bytes == 0) continue;
    place.emplace(node, static_cast<int32_t>(graph.nodes()));
    WriteNode(node, /*read=*/true, /*written=*/false, &graph);
  }
  for (int32_t node : group.nodes) {
    if (graph_->nodes()[static_cast<size_t>(node)].free) continue;
    const auto self = static_cast<int32_t>(graph.nodes());
    const bool written = std::binary_search(group.written.begin(), group.written.end(), node);
    WriteNode(node, /*read=*/false, written, &graph);
    for (int32_t operand : graph_->Operands(node)) {
      const auto from = place.find(operand);
      if (from == place.end()) continue;
      graph.edge_sources.push_back(from->second);
      graph.edge_targets.push_back(self);
    }
    place[node] = self;
  }
  // A kernel of values alone, such as a copy that the compiler added.
  if (graph.opcodes.empty() && !group.nodes.empty()) {
    WriteNode(group.nodes.back(), /*read=*/false, /*written=*/true, &graph);
  }
  return graph;
}

}  // namespace autotune
