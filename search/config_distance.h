#ifndef AUTOTUNE_SEARCH_CONFIG_DISTANCE_H_
#define AUTOTUNE_SEARCH_CONFIG_DISTANCE_H_

#include "hardware/config.h"
#include "search/random.h"

namespace autotune {

// How far two configurations are apart; symmetric, 0 for equal ones.
// - Tiles: the sum over the dimensions of |log2(bound / bound)|, so that doubling one bound is 1.
// - Fusions: the number of edges that one cuts and the other does not.
// - Layouts: the number of tensors that are laid out differently.
// - Opaque ones: the difference of their positions.
// - Different alternatives, or tiles or layouts of different rank: a large constant.
double ConfigDistance(const Config& a, const Config& b);

// A mix of two configurations of the same form: each bound, edge or node from one of the two. It
// need not be legal. `a` for opaque configurations and for different forms.
Config MixConfigs(const Config& a, const Config& b, Rng& rng);

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_CONFIG_DISTANCE_H_
