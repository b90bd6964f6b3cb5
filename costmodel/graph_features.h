#ifndef AUTOTUNE_COSTMODEL_GRAPH_FEATURES_H_
#define AUTOTUNE_COSTMODEL_GRAPH_FEATURES_H_

#include <string>
#include <vector>

#include "costmodel/features.h"
#include "hlo/module.h"

namespace autotune {

// The names of the features of a node, in order.
std::vector<std::string> NodeFeatureNames();

// Fills in opcodes, node features and edges. Fusions are inlined: their parameters and nested
// fusions leave no node, but the edges through them stay. A kernel of more than `kMaxGraphNodes`
// operations keeps the last ones (those nearest to the result).
inline constexpr int64_t kMaxGraphNodes = 5000;
void BuildKernelGraph(const HloModule& kernel_module, KernelGraph* graph);

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_GRAPH_FEATURES_H_
