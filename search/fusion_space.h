#ifndef AUTOTUNE_SEARCH_FUSION_SPACE_H_
#define AUTOTUNE_SEARCH_FUSION_SPACE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/fusion_decision.h"
#include "hlo/fusion_graph.h"
#include "search/search_space.h"

namespace autotune {

// The cuts with one edge cut that was not, or the other way round.
FusionDecision FlipEdge(FusionDecision decision, int64_t edge);

// The fusion configurations of a program: every subset of some of its fusible edges, cut. All are
// legal, because a cut only forbids. Enumerated by the number of cuts, fewest first, so that the
// compiler's own choice (nothing cut) comes first.
//
// Moves flip one edge; move a cut to an edge beside it (a boundary moves over one operation); or
// cut or join all edges of one value at once (a group is split or merged).
//
// Immutable and thread-safe; the graph must outlive it.
class FusionSpace final : public SearchSpace {
 public:
  // Over all edges of the graph.
  explicit FusionSpace(const FusionGraph* graph);
  // Over some edges alone: those that the compiler fuses when it is free, say; the others never
  // matter. InvalidArgument for edges that are not there, not ascending, or none.
  static absl::StatusOr<std::unique_ptr<FusionSpace>> Create(const FusionGraph* graph,
                                                             std::vector<int64_t> edges);

  // 2^edges; nullopt from 62 edges on.
  std::optional<int64_t> Size() const override;
  bool Contains(const Config& config) const override;
  std::unique_ptr<SpaceCursor> NewCursor() const override;
  // The number of cuts is about as likely to be small as large: uniform in its logarithm.
  std::optional<Config> Sample(Rng& rng) const override;
  std::vector<Config> Neighbours(const Config& config) const override;
  std::optional<Config> RandomNeighbour(const Config& config, Rng& rng) const override;
  // Groups of operations that `a` leaves together stay whole: for each of them, drawn evenly, its
  // inner edges and its borders come from `a`; everything else from `b`.
  Config Crossover(const Config& a, const Config& b, Rng& rng) const override;

  const std::vector<int64_t>& edges() const { return edges_; }

 private:
  FusionSpace(const FusionGraph* graph, std::vector<int64_t> edges);

  const FusionGraph* graph_;
  std::vector<int64_t> edges_;  // ascending
  // By place in edges_: the places of edges that share a node with it.
  std::vector<std::vector<int32_t>> beside_;
  // The places of the edges of each value that has several.
  std::vector<std::vector<int32_t>> values_;
};

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_FUSION_SPACE_H_
