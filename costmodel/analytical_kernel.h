#ifndef AUTOTUNE_COSTMODEL_ANALYTICAL_KERNEL_H_
#define AUTOTUNE_COSTMODEL_ANALYTICAL_KERNEL_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "costmodel/analytical_constants.h"
#include "hardware/device_spec.h"
#include "hlo/module.h"
#include "hlo/tile_bounds.h"
#include "hlo/tile_geometry.h"
#include "hlo/tile_steps.h"

namespace autotune {

// An estimate of one run of a kernel with one tile, and where the time goes. The parts overlap:
// seconds is less than their sum.
struct AnalyticalEstimate {
  double seconds = 0;
  double compute_seconds = 0;   // matrix and vector units, all iterations
  double matrix_seconds = 0;    // of it the matrix unit
  double transfer_seconds = 0;  // HBM traffic, all iterations
  double overhead_seconds = 0;  // launch, loop control and masking
  double transfer_runs = 0;     // contiguous pieces of all transfers
  bool fits = true;             // the windows fit in VMEM
};

// Memory reused between estimates; one per thread.
struct AnalyticalScratch {
  TileEvaluation tile;
  TileSteps steps;
  std::vector<double> dim_tiles;
  std::vector<int64_t> steps_in_use;
};

// One kernel on one device, read once and then estimated for any number of tiles. Immutable and
// thread-safe.
class AnalyticalKernel {
 public:
  // Fails like TileGeometry::Create.
  static absl::StatusOr<AnalyticalKernel> Create(const HloModule& kernel_module,
                                                 const DeviceSpec& device);

  const TileGeometry& geometry() const { return geometry_; }

  // REQUIRES: geometry().Check(bounds).ok().
  AnalyticalEstimate Estimate(const TileBounds& bounds, const AnalyticalConstants& constants,
                              AnalyticalScratch* scratch) const;

  // Whether the tile's windows fit in VMEM, by a count from below.
  bool Fits(const TileEvaluation& tile) const;

 private:
  // Operations that work on the same windows, together.
  struct VectorWork {
    Windows dims;
    TileStage stage = TileStage::kEveryIteration;
    double instructions = 0;           // per register
    double products_per_register = 0;  // multiply-adds of contractions that are not the hero's
  };

  // What one kind of step moves.
  struct Transfer {
    double bytes = 0;
    double runs = 0;
    bool loads = false;
  };

  AnalyticalKernel(TileGeometry geometry, const DeviceSpec& device);

  void GroupOps();
  double MatrixCycles(const TileEvaluation& tile, const AnalyticalConstants& constants) const;
  double VectorCycles(const TileEvaluation& tile, const AnalyticalConstants& constants) const;
  double ResultRegisters(const TileEvaluation& tile) const;
  int RaggedContractions(const TileEvaluation& tile) const;
  void MeasureWindows(AnalyticalScratch* scratch) const;
  Transfer TransferOf(const TileStep& step, uint32_t cut, const AnalyticalScratch& scratch) const;
  double TransferSeconds(const Transfer& transfer, const AnalyticalConstants& constants) const;

  TileGeometry geometry_;
  DeviceSpec device_;
  std::vector<VectorWork> vector_work_;
};

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_ANALYTICAL_KERNEL_H_
