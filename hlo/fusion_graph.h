#ifndef AUTOTUNE_HLO_FUSION_GRAPH_H_
#define AUTOTUNE_HLO_FUSION_GRAPH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/instruction.h"
#include "hlo/module.h"

namespace autotune {

// An operation of a program before optimisation, as fusion sees it.
struct FusionNode {
  const HloInstruction* instruction = nullptr;
  // How often one execution of the program runs it (trip counts of loops where they are known).
  int64_t executions = 1;
  // Takes no kernel and no memory traffic of its own: parameters, constants, iota, scalars, what
  // is broadcast from a scalar, tuples and their elements, control flow.
  bool free = false;
  // So much work (contractions, reductions, gathers, scatters) that the compiler does not repeat
  // it in several consumers.
  bool heavy = false;
  // Its value is needed outside of fusible edges: it is the computation's root, or has a user that
  // cannot take it in.
  bool escapes = false;
};

// A fusible pair: the compiler may compute the producer's value inside the consumer's kernel.
// Indices of nodes.
struct FusionEdge {
  int32_t producer = 0;
  int32_t consumer = 0;
};

// The fusible producer-consumer edges of a program before optimisation. FusionDecision::cuts are
// indices into edges(). Nodes are numbered in the order in which XLA writes a program to a
// protobuf, edges by consumer and then by operand: text and protobuf of a program have the same
// numbers, whatever the names.
//
// What can be an edge: both ends lie in one computation that the program runs as such (the entry,
// bodies and conditions of loops, branches); the producer is an array of more than one element
// that an operation computes which TPU kernels are made of (element-wise, broadcast and other
// movement of data, reduction, convolution or matrix product, gather, scatter), and so is the
// consumer. Parameters, constants, scalars and what is spread from one scalar, side effects, random
// numbers, collectives, custom calls and control flow stay out. A cut only forbids, so that every
// subset of edges is a legal configuration and no cycle between kernels can arise from it.
//
// Immutable, thread-safe; shares the module. Construction is linear in the program.
class FusionGraph {
 public:
  // InvalidArgument for an optimised program, which has its fusions already.
  static absl::StatusOr<FusionGraph> Create(std::shared_ptr<const HloModule> module);

  const HloModule& module() const { return *module_; }

  const std::vector<FusionNode>& nodes() const { return nodes_; }
  const std::vector<FusionEdge>& edges() const { return edges_; }
  int32_t node_count() const { return static_cast<int32_t>(nodes_.size()); }
  int32_t edge_count() const { return static_cast<int32_t>(edges_.size()); }

  // The edges whose producer, or consumer, is `node`, ascending.
  absl::Span<const int32_t> OutEdges(int32_t node) const { return Slice(out_edges_, out_, node); }
  absl::Span<const int32_t> InEdges(int32_t node) const { return Slice(in_edges_, in_, node); }
  // The distinct operands of `node`, fusible or not, in order.
  absl::Span<const int32_t> Operands(int32_t node) const {
    return Slice(operands_, operand_begin_, node);
  }

  // The node of an instruction; -1 for one of a computation that is no part of the graph.
  int32_t NodeOf(const HloInstruction* instruction) const;
  // The edge between two nodes; -1 if there is none.
  int32_t EdgeBetween(int32_t producer, int32_t consumer) const;

 private:
  FusionGraph() = default;

  absl::Span<const int32_t> Slice(const std::vector<int32_t>& values,
                                  const std::vector<int32_t>& begin, int32_t node) const {
    const auto i = static_cast<size_t>(node);
    return absl::MakeConstSpan(values).subspan(static_cast<size_t>(begin[i]),
                                               static_cast<size_t>(begin[i + 1] - begin[i]));
  }
  void AddComputation(const HloComputation& computation, int64_t executions);
  void AddEdges();
  void MarkEscapes();

  std::shared_ptr<const HloModule> module_;
  std::vector<FusionNode> nodes_;
  std::vector<FusionEdge> edges_;
  absl::flat_hash_map<const HloInstruction*, int32_t> node_of_;
  // Lists of all nodes one after the other; where each begins, with an end.
  std::vector<int32_t> out_edges_, out_, in_edges_, in_, operands_, operand_begin_;
};

// Whether the TPU compiler makes loop, reduction, convolution or data movement fusions of this
// operation.
bool IsFusibleOperation(const HloInstruction& instruction);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_FUSION_GRAPH_H_
