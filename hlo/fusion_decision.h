#ifndef AUTOTUNE_HLO_FUSION_DECISION_H_
#define AUTOTUNE_HLO_FUSION_DECISION_H_

#include <cstdint>
#include <string>
#include <vector>

namespace autotune {

// Which producer-consumer edges of a program before optimisation are cut. An edge is the index that
// the fusion space gave it; an edge that is not listed may be fused (a permission, not an order).
// A plain value; `cuts` is sorted and without duplicates.
struct FusionDecision {
  std::vector<int64_t> cuts;

  // The canonical key, for instance "f=3,17"; "f=" cuts nothing.
  std::string Key() const;

  friend bool operator==(const FusionDecision&, const FusionDecision&) = default;
};

}  // namespace autotune

#endif  // AUTOTUNE_HLO_FUSION_DECISION_H_
