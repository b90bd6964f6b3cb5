#ifndef AUTOTUNE_HLO_FUSION_GROUP_H_
#define AUTOTUNE_HLO_FUSION_GROUP_H_

#include <cstdint>
#include <vector>

#include "hlo/fusion_graph.h"
#include "hlo/fusion_realised.h"

namespace autotune {

// A kernel as a group of operations of the program before optimisation, and its traffic. Node
// indices of a FusionGraph, ascending, each once.
struct FusionGroup {
  std::vector<int32_t> nodes;
  std::vector<int32_t> written;  // of `nodes`: those whose values go to memory
  std::vector<int32_t> read;     // values of other kernels, parameters, constants

  friend bool operator==(const FusionGroup&, const FusionGroup&) = default;
};

// Where the values of nodes come from that are in no kernel themselves (folded away, or bitcasts):
// their largest operand's, by node; a node that is there comes from itself.
std::vector<int32_t> ValueSources(const FusionGraph& graph, const std::vector<bool>& absent);

// The kernels of a compiled program as groups, in the order of `grouping`. A value that several
// kernels compute is written, if somebody reads it, by the one that it is the last operation of,
// else by the first.
std::vector<FusionGroup> GroupsOf(const FusionGraph& graph, const RealisedGrouping& grouping);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_FUSION_GROUP_H_
