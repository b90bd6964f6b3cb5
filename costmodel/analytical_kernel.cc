#include "costmodel/analytical_kernel.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "costmodel/vector_cost.h"
#include "hardware/kernel_vmem.h"
#include "hlo/int_math.h"

namespace autotune {
namespace {

int64_t PaddedStep(const TileLoop& loop, int64_t step) { return RoundUp(step, loop.tile); }

bool SameWindows(const Windows& a, const Windows& b) {
  if (a.size() != b.size()) return false;
  for (size_t d = 0; d < a.size(); ++d) {
    const WindowDim& x = a[d];
    const WindowDim& y = b[d];
    const bool same = x.elements == y.elements && x.tile == y.tile && x.loops == y.loops &&
                      x.fixed == y.fixed && x.multiplier == y.multiplier &&
                      x.divisor == y.divisor && x.convolved == y.convolved &&
                      x.stride == y.stride && x.dilation == y.dilation && x.halo == y.halo;
    if (!same) return false;
  }
  return true;
}

// The time of two things that run beside each other: the longer one, and more the closer they are
// (26 % when they are equal), because neither goes at a steady pace. The exponent fits as 2.85.
double Overlapped(double a, double b) { return std::cbrt(a * a * a + b * b * b); }

// The variants of a dimension: one for each subset of its loops (at most two) that may be short.
constexpr size_t kVariants = 4;

size_t VariantOf(const WindowDim& dim, uint32_t short_loops) {
  size_t variant = 0;
  for (size_t i = 0; i < dim.loops.size() && i < 2; ++i) {
    variant |= (short_loops >> static_cast<uint32_t>(dim.loops[i]) & 1) << i;
  }
  return variant;
}

}  // namespace

absl::StatusOr<AnalyticalKernel> AnalyticalKernel::Create(const HloModule& kernel_module,
                                                          const DeviceSpec& device) {
  absl::StatusOr<TileGeometry> geometry = TileGeometry::Create(kernel_module);
  if (!geometry.ok()) return geometry.status();
  return AnalyticalKernel(*std::move(geometry), device);
}

AnalyticalKernel::AnalyticalKernel(TileGeometry geometry, const DeviceSpec& device)
    : geometry_(std::move(geometry)), device_(device) {
  GroupOps();
}

bool AnalyticalKernel::Fits(const TileEvaluation& tile) const { return FitsVmem(tile, device_); }

void AnalyticalKernel::GroupOps() {
  for (const TileOp& op : geometry_.ops()) {
    VectorWork* work = nullptr;
    for (VectorWork& candidate : vector_work_) {
      if (candidate.stage == op.stage && SameWindows(candidate.dims, op.dims)) work = &candidate;
    }
    if (work == nullptr) {
      vector_work_.emplace_back();
      work = &vector_work_.back();
      work->dims = op.dims;
      work->stage = op.stage;
    }
    const double combined = static_cast<double>(op.combined);
    if (op.opcode == HloOpcode::kConvolution) {
      work->products_per_register +=
          combined * static_cast<double>(device_.vector_sublanes * device_.vector_lanes);
    } else {
      work->instructions += combined * VectorInstructions(op.opcode, op.element_type);
    }
  }
}

// Each pass loads a stationary operand of up to size x size, one row a cycle, and streams the rows
// of the other operand past it, one a cycle, while the next is loaded; the units share the passes.
// Padding is computed: windows at the end of a dimension take as long as the others.
double AnalyticalKernel::MatrixCycles(const TileEvaluation& tile,
                                      const AnalyticalConstants& constants) const {
  const MatrixWork* work = geometry_.matrix_work();
  if (work == nullptr) return 0;
  const auto loops = geometry_.loops();
  const int64_t size = device_.matrix_unit_size;
  double rows = 1;
  double passes = work->precision_passes;
  for (const int8_t l : work->row_loops) {
    const size_t loop = static_cast<size_t>(l);
    rows *= static_cast<double>(PaddedStep(loops[loop], tile.steps[loop]));
  }
  for (const int8_t l : work->position_loops) {
    passes *= static_cast<double>(tile.steps[static_cast<size_t>(l)]);
  }
  for (const int8_t l : work->lane_loops) {
    passes *= static_cast<double>(CeilDiv(tile.steps[static_cast<size_t>(l)], size));
  }
  int64_t stationary_rows = size;
  if (work->contracted_loop >= 0) {
    const int64_t contracted = tile.steps[static_cast<size_t>(work->contracted_loop)];
    passes *= static_cast<double>(CeilDiv(contracted, size));
    stationary_rows = std::min(size, CeilDiv(contracted, 8) * 8);
  }
  const double rate = work->integer && device_.int8_ops_per_second > 0
                          ? device_.int8_ops_per_second / device_.bf16_flops_per_second
                          : 1;
  const double load = static_cast<double>(stationary_rows) * constants.stationary_row_cycles;
  const double cycles = std::max(rows, load);
  return passes * (cycles / (rate * device_.matrix_units) + constants.pass_cycles);
}

// Registers of the convolution's result that an iteration adds to.
double AnalyticalKernel::ResultRegisters(const TileEvaluation& tile) const {
  if (geometry_.matrix_work() == nullptr) return 0;
  double elements = 1;
  const auto loops = geometry_.loops();
  for (size_t l = 0; l < loops.size(); ++l) {
    if (loops[l].reduced) continue;
    elements *= static_cast<double>(PaddedStep(loops[l], tile.steps[l]));
  }
  return elements / static_cast<double>(device_.vector_sublanes * device_.vector_lanes);
}

double AnalyticalKernel::VectorCycles(const TileEvaluation& tile,
                                      const AnalyticalConstants& constants) const {
  double reductions = 1;
  const auto loops = geometry_.loops();
  for (size_t l = 0; l < loops.size(); ++l) {
    if (loops[l].reduced) reductions *= static_cast<double>(tile.trips[l]);
  }
  double cycles = constants.accumulate_cycles * ResultRegisters(tile);
  const double products_per_cycle = device_.bf16_flops_per_second / 2 / device_.clock_hz;
  for (const VectorWork& work : vector_work_) {
    double registers = 1;
    for (const WindowDim& dim : work.dims) {
      registers *= static_cast<double>(dim.Tiles(tile.steps));
    }
    if (work.stage == TileStage::kLastReduction) registers /= reductions;
    cycles += registers * (work.instructions * constants.vector_cycles +
                           work.products_per_register / products_per_cycle);
  }
  return cycles;
}

int AnalyticalKernel::RaggedContractions(const TileEvaluation& tile) const {
  if (geometry_.matrix_work() == nullptr) return 0;
  int ragged = 0;
  const auto loops = geometry_.loops();
  for (size_t l = 0; l < loops.size(); ++l) {
    ragged += loops[l].reduced && tile.trips[l] * tile.steps[l] != loops[l].elements;
  }
  return ragged;
}

// Tiles of every dimension of every operand, for full and for short steps: every step then only
// multiplies them.
void AnalyticalKernel::MeasureWindows(AnalyticalScratch* scratch) const {
  const TileEvaluation& tile = scratch->tile;
  const auto loops = geometry_.loops();
  scratch->steps_in_use.assign(tile.steps.begin(), tile.steps.end());
  std::vector<int64_t>& steps = scratch->steps_in_use;
  scratch->dim_tiles.clear();
  for (const TileOperand& operand : geometry_.operands()) {
    for (const WindowDim& dim : operand.dims) {
      const double full = dim.MeanTiles(steps, tile.trips);
      for (size_t variant = 0; variant < kVariants; ++variant) {
        bool differs = false;
        for (size_t i = 0; i < 2 && i < dim.loops.size(); ++i) {
          const size_t l = static_cast<size_t>(dim.loops[i]);
          const int64_t last = loops[l].elements - (tile.trips[l] - 1) * tile.steps[l];
          if ((variant >> i & 1) == 0 || last == tile.steps[l]) continue;
          steps[l] = last;
          differs = true;
        }
        scratch->dim_tiles.push_back(differs ? dim.MeanTiles(steps, tile.trips) : full);
        if (!differs) continue;
        for (const int8_t l : dim.loops) {
          steps[static_cast<size_t>(l)] = tile.steps[static_cast<size_t>(l)];
        }
      }
    }
  }
}

AnalyticalKernel::Transfer AnalyticalKernel::TransferOf(const TileStep& step, uint32_t cut,
                                                        const AnalyticalScratch& scratch) const {
  Transfer transfer;
  const double* tiles = scratch.dim_tiles.data();
  for (const TileOperand& operand : geometry_.operands()) {
    const double* operand_tiles = tiles;
    tiles += kVariants * operand.dims.size();
    if (!operand.InHbm() || !WindowMoves(operand.loop_mask, step, cut)) continue;
    double window = 1;
    double run = 1;
    bool contiguous = true;
    for (size_t d = operand.dims.size(); d-- > 0;) {
      const WindowDim& dim = operand.dims[d];
      const double covered = operand_tiles[kVariants * d + VariantOf(dim, step.short_loops)];
      window *= covered;
      if (contiguous) run *= covered;
      contiguous &= covered >= static_cast<double>(CeilDiv(dim.elements, dim.tile));
    }
    transfer.bytes += window * static_cast<double>(operand.tile_bytes);
    transfer.runs += window / run;
    transfer.loads |= !operand.is_output;
  }
  return transfer;
}

// The bytes stream while descriptors are fetched and requests are under way, but not quite.
double AnalyticalKernel::TransferSeconds(const Transfer& transfer,
                                         const AnalyticalConstants& constants) const {
  if (transfer.bytes == 0) return 0;
  const double latency = (transfer.loads ? constants.transfer_latency_seconds : 0) +
                         transfer.runs * constants.run_seconds;
  const double stream = transfer.bytes / (device_.hbm_bytes_per_second * constants.bandwidth_share);
  return std::hypot(latency, stream);
}

AnalyticalEstimate AnalyticalKernel::Estimate(const TileBounds& bounds,
                                              const AnalyticalConstants& constants,
                                              AnalyticalScratch* scratch) const {
  geometry_.Evaluate(bounds, &scratch->tile);
  const TileEvaluation& tile = scratch->tile;
  EnumerateTileSteps(geometry_.loops(), tile, &scratch->steps);
  MeasureWindows(scratch);

  const double matrix = MatrixCycles(tile, constants) / device_.clock_hz;
  const double vector = VectorCycles(tile, constants) / device_.clock_hz;
  const double compute = matrix + vector;
  const double overhead =
      constants.iteration_seconds + RaggedContractions(tile) * constants.ragged_seconds;
  const uint32_t cut = CutLoops(tile);
  AnalyticalEstimate estimate;
  estimate.fits = Fits(tile);
  estimate.seconds = constants.launch_seconds;
  for (const TileStep& step : scratch->steps) {
    const Transfer moved = TransferOf(step, cut, *scratch);
    const double transfer = TransferSeconds(moved, constants);
    estimate.transfer_runs += step.count * moved.runs;
    estimate.transfer_seconds += step.count * transfer;
    // Nothing hides the first transfer; later ones run beside the computation before them.
    const double busy = compute + overhead;
    const double seconds = step.advancing < 0 ? busy + transfer : Overlapped(busy, transfer);
    estimate.seconds += step.count * seconds;
  }
  const double iterations = static_cast<double>(tile.iterations);
  estimate.compute_seconds = iterations * compute;
  estimate.matrix_seconds = iterations * matrix;
  estimate.overhead_seconds = constants.launch_seconds + iterations * overhead;
  return estimate;
}

}  // namespace autotune
