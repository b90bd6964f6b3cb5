#include "tests/search/testing_spaces.h"

namespace autotune::testing {

Config Tile(const WindowBounds& kernel, const WindowBounds& output) {
  TileBounds bounds;
  bounds.kernel = kernel;
  bounds.output = output;
  return Config(bounds);
}

}  // namespace autotune::testing
