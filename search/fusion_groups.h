#ifndef AUTOTUNE_SEARCH_FUSION_GROUPS_H_
#define AUTOTUNE_SEARCH_FUSION_GROUPS_H_

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "hlo/fusion_graph.h"
#include "hlo/fusion_realised.h"

namespace autotune {

// What fusions a compiler is expected to make where nothing is known of it: everything is taken in
// by its consumers, but for values of heavy operations with several of them, products by products,
// and results of reductions that are spread out again.
FusionOutline PredictOutline(const FusionGraph& graph);

// The kernels that a program is expected to have when some edges are cut. An edge fuses if the
// outline says so and it is not cut. A value that all its users take in has no kernel of its own
// and is part of all of theirs; one that is needed in memory as well is written by its own kernel
// if it is cheap to compute again, else by the kernel of its last user that takes it in.
//
// A group is named by its root, the node whose kernel it is. Flipping edges changes only the groups
// around them: see changed(). Copyable; not thread-safe.
class FusionGroups {
 public:
  using Roots = absl::InlinedVector<int32_t, 2>;

  // Nothing cut. The graph and outline must outlive this.
  FusionGroups(const FusionGraph* graph, const FusionOutline* outline);

  // Cuts the edges that are not cut and joins those that are.
  void Flip(const std::vector<int32_t>& edges);

  bool IsCut(int32_t edge) const { return cut_[static_cast<size_t>(edge)]; }
  // The members of the group of this root, in no order; empty if there is none.
  const std::vector<int32_t>& Members(int32_t root) const {
    return members_[static_cast<size_t>(root)];
  }
  // The groups that a node is part of, ascending.
  const Roots& GroupsOf(int32_t node) const { return groups_[static_cast<size_t>(node)]; }
  // The group that writes the node's value to memory; -1 if none does.
  int32_t Home(int32_t node) const { return home_[static_cast<size_t>(node)]; }

  // The roots of groups that are new, gone or different after the last Flip (of all after
  // construction), each once.
  const std::vector<int32_t>& changed() const { return changed_; }

 private:
  void Evaluate(int32_t node);
  void MarkChanged(int32_t root);

  const FusionGraph* graph_;
  const FusionOutline* outline_;
  std::vector<bool> cut_;
  std::vector<Roots> groups_;
  std::vector<int32_t> home_;
  std::vector<std::vector<int32_t>> members_;
  std::vector<int32_t> changed_;
  std::vector<bool> is_changed_;
  std::vector<int32_t> pending_;  // a heap: users before what they use
  std::vector<bool> is_pending_;
};

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_FUSION_GROUPS_H_
