#ifndef AUTOTUNE_HLO_CONVOLUTION_LOOPS_H_
#define AUTOTUNE_HLO_CONVOLUTION_LOOPS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/instruction.h"
#include "hlo/tile_geometry.h"

namespace autotune {

// The loop nest of a tiled convolution, and the windows that its operands and its result have in it
// (per logical dimension).
struct ConvolutionLoops {
  std::vector<TileLoop> loops;
  std::vector<int> tied_output;  // see TileGeometry::TiedOutputPosition
  Windows input;
  Windows kernel;
  Windows output;
  MatrixWork work;
};

// Fails with InvalidArgument if dimension numbers, window and shapes do not agree.
absl::StatusOr<ConvolutionLoops> BuildConvolutionLoops(const HloInstruction& convolution);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_CONVOLUTION_LOOPS_H_
