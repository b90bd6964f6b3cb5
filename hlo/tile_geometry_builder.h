#ifndef AUTOTUNE_HLO_TILE_GEOMETRY_BUILDER_H_
#define AUTOTUNE_HLO_TILE_GEOMETRY_BUILDER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/in_place_update.h"
#include "hlo/instruction.h"
#include "hlo/module.h"
#include "hlo/tile_geometry.h"
#include "hlo/window_propagation.h"

namespace autotune {

// Reads one kernel into a TileGeometry: finds the hero, lays out the loop nest, and derives the
// windows of all buffers and operations from those of the hero. Used once. Internal to the folder.
class TileGeometryBuilder {
 public:
  // REQUIRES: the module outlives the builder.
  explicit TileGeometryBuilder(const HloInstruction& operation);

  absl::StatusOr<TileGeometry> Build() &&;

 private:
  absl::Status FindHero();
  absl::Status BuildLoops();
  absl::Status BuildConvolution();
  absl::Status BuildReduceWindow();
  absl::Status BuildPlain(const HloInstruction& tiled);
  absl::Status CheckExtents() const;

  void SetHeroInput();
  void AddOperands();
  void AddOps();
  void MarkDownstream();

  const HloInstruction& operation_;
  WindowPropagation propagation_;
  // By result: what is written into an array that is given, or nothing.
  std::vector<std::optional<InPlaceUpdate>> results_;
  const HloInstruction* hero_ = nullptr;
  // Instructions that use the hero's result, directly or not.
  std::vector<const HloInstruction*> downstream_;
  TileGeometry geometry_;
};

// The extents, tiles and extents in tiles of an array in physical order. An array without a tiled
// layout counts as tiled by (8,128), or (1024) if it has one dimension, as a TPU would lay it out.
// Rows beyond 8 in a tile of small elements do not count: bounds are in units of 8 sublanes.
std::vector<BoundDim> PhysicalBoundDims(const Shape& shape);

// Windows per logical dimension turned into physical order, with the tiles of the layout set.
Windows PhysicalWindows(const Windows& logical, const Shape& shape);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_TILE_GEOMETRY_BUILDER_H_
