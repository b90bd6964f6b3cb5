#ifndef AUTOTUNE_HLO_TILE_GEOMETRY_H_
#define AUTOTUNE_HLO_TILE_GEOMETRY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlo/element_type.h"
#include "hlo/opcode.h"
#include "hlo/tile_bounds.h"
#include "hlo/window_dim.h"

namespace autotune {

class HloModule;

// The operation of a kernel whose shape the tile cuts up.
enum class HeroKind {
  kConvolution,   // also every matrix product: the TPU compiler writes them as convolutions
  kReduceWindow,  // bounds over the output, kernel bounds over the window
  kReduce,        // bounds over the reduce's input
  kElementwise,   // a loop fusion or one elementwise operation: bounds over the (first) output, or
                  // over what is written of it, where it is updated in place (in_place_update.h)
  kDataMovement,  // copy, transpose, reshape, slice, pad, concatenate, ...: the same
};
absl::string_view HeroKindName(HeroKind kind);

// What a loop of the tiled loop nest walks over. The compiler nests them in this order, outermost
// first, within a role by dimension number (seen in the iteration_bounds of 4,366 kernels).
enum class LoopRole {
  kBatchSpatial,    // a batch dimension of a matrix product, written as a dilated spatial one
  kOutputFeature,   // output features
  kFeatureSpatial,  // a part of the output features, written as a padded, reversed spatial one
  kBatch,           // rows
  kSpatial,         // spatial dimensions of the output
  kKernelSpatial,   // spatial dimensions of the window
  kInputFeature,    // the contracted dimension
  kData,            // any dimension of a hero that is no convolution, major to minor
};

// A dimension that bounds are given for, in physical order.
struct BoundDim {
  int64_t elements = 1;  // extent of the shape
  int64_t tile = 1;      // elements in a layout tile along it (8 sublanes, 128 lanes, else 1)
  int64_t tiles = 1;     // extent in tiles: the largest legal bound
};

// One loop of the nest. It advances by a bound of the output or of the kernel.
struct TileLoop {
  LoopRole role = LoopRole::kData;
  int64_t elements = 1;      // trip space in elements
  int64_t tile = 1;          // elements in a tile: a bound b advances by b * tile of them
  int output_position = -1;  // into TileBounds::output, or -1
  int kernel_position = -1;  // into TileBounds::kernel, or -1
  bool reduced = false;      // its iterations add to the same output elements
};

// The largest number of loops and of dimensions that kernels may have.
inline constexpr int kMaxTileLoops = 16;

// The most tiles along one dimension: beyond what the memory of any device holds.
inline constexpr int64_t kMaxTilesOfDimension = int64_t{1} << 30;

// A buffer outside the kernel: a parameter of the kernel or an array of its result. Of an array
// that is updated in place, the part that is written.
struct TileOperand {
  bool is_output = false;
  int index = 0;  // parameter number, or number of the array in the result
  ElementType element_type{};
  int64_t memory_space = 0;  // 0: HBM. 1: VMEM, which costs no transfer. 6: scalar memory
  int64_t tile_bytes = 0;    // bytes of one layout tile, padding included
  int64_t total_bytes = 0;   // the whole array, padding included
  // False if no rule says which part an iteration needs; it then counts as transferred once, whole.
  bool windowed = true;
  uint32_t loop_mask = 0;  // bit i: the window moves when loop i advances
  Windows dims;            // physical order, major to minor

  bool InHbm() const { return memory_space == 0; }
};

// When an operation within the kernel runs.
enum class TileStage {
  kEveryIteration,
  kLastReduction,  // on finished results: in the last iteration that adds to them
};

// One operation within the kernel, with the window that an iteration computes.
struct TileOp {
  HloOpcode opcode = HloOpcode::kUnknown;
  ElementType element_type{};  // of its result
  TileStage stage = TileStage::kEveryIteration;
  // Elements that are combined into one of the result: a window, the contracted extents; else 1.
  int64_t combined = 1;
  // Of the result, but of the operand for a reduce. Physical order, major to minor; `tile` is the
  // number of elements in a vector register along the dimension.
  Windows dims;
};

// The matrix product of a convolution as the matrix unit sees it: past a stationary operand of
// contracted x lane elements rows are streamed; every position needs a stationary operand of its
// own.
struct MatrixWork {
  // Loops by what they count; every loop is in one of them.
  absl::InlinedVector<int8_t, 4> row_loops;
  absl::InlinedVector<int8_t, 4> lane_loops;
  absl::InlinedVector<int8_t, 4> position_loops;
  int8_t contracted_loop = -1;
  int precision_passes = 1;  // passes of the unit per product: 1, 3 or 6
  bool integer = false;      // both operands are of 8 bits or fewer and integral
};

// What one tile makes of the kernel.
struct TileEvaluation {
  // Trip counts of the loops and the elements that each step covers, in loop order.
  absl::InlinedVector<int64_t, 8> trips;
  absl::InlinedVector<int64_t, 8> steps;
  int64_t iterations = 1;
  // For every operand, in the order of TileGeometry::operands(): bytes of the window, and how often
  // it is transferred in the whole kernel (its window stays while only other loops advance).
  absl::InlinedVector<int64_t, 8> window_bytes;
  absl::InlinedVector<int64_t, 8> transfers;
  // HBM traffic of the whole kernel, and per iteration on average.
  double bytes_read = 0;
  double bytes_written = 0;
  double bytes_per_iteration = 0;
  // VMEM that the kernel needs at least: windows of arrays in HBM, twice where they move (one is in
  // use while the other is in flight), and the accumulator of a contraction that is cut.
  int64_t vmem_bytes = 0;
  // What a convolution needs beyond that where the device must unpack its input (v2, v3): a copy of
  // the input's window, and one in 32 bits if it is narrower. The two failures among 581 recorded
  // tiles of a convolution on v3, and no other tile, exceed 16 MiB with it.
  int64_t input_copy_bytes = 0;
  // Share of the hero's tile space that is padding: 0 when bounds divide the shape and tiles are
  // full. In [0, 1).
  double padding_waste = 0;
};

// The one place where the iterations, windows with halo, bytes per iteration and buffer footprint
// of a tiled kernel are computed: pure functions of the kernel and of the tile's bounds.
//
// Create() reads the kernel once into plain data (no reference to the module is kept); what is
// asked later takes no lock and, with a reused result, allocates nothing. Immutable and
// thread-safe.
class TileGeometry {
 public:
  // `kernel_module` is the module of a Kernel: parameters and one operation in its entry
  // computation. Fails with InvalidArgument if it is anything else or if the hero has more than
  // kMaxTilesOfDimension tiles along a dimension, and with Unimplemented for an
  // operation that is not tiled this way (sort, scatter, custom calls, ...).
  static absl::StatusOr<TileGeometry> Create(const HloModule& kernel_module);

  HeroKind hero_kind() const { return hero_kind_; }

  // The dimensions that bounds are given for, in physical order, major to minor. kernel_dims() is
  // empty unless the hero is a convolution or a reduce-window.
  absl::Span<const BoundDim> output_dims() const { return output_dims_; }
  absl::Span<const BoundDim> kernel_dims() const { return kernel_dims_; }

  // A kernel bound may follow from an output bound (output features, batch dimensions): the
  // position of that output bound, or -1 for a free one.
  int TiedOutputPosition(int kernel_position) const {
    return tied_output_[static_cast<size_t>(kernel_position)];
  }
  // The value that the kernel bound then has. REQUIRES: TiedOutputPosition(kernel_position) >= 0.
  int64_t TiedKernelBound(int kernel_position, int64_t output_bound) const;

  // The bounds that the compiler considers along a dimension, descending: ceil(tiles / n) for
  // n = 1, 2, ...; for the contracted dimension of a convolution only multiples of 128 elements, or
  // all of it. For a tied kernel dimension every value that it may take. Where a copy moves a
  // dimension from one place of the layout to another, or a contracted dimension lies differently
  // in both factors, also those in steps of the largest tile that an operand has along it: libtpu
  // 0.0.52 chooses 128 rows of a copy whose operand has them in lanes, and a contraction of 121 * 8
  // where both factors have it in sublanes.
  std::vector<int64_t> CanonicalOutputBounds(int position) const;
  std::vector<int64_t> CanonicalKernelBounds(int position) const;

  // OK if the bounds have the right rank, lie within the extents, and tied bounds agree. Says
  // nothing about VMEM. Fails with InvalidArgument.
  absl::Status Check(const TileBounds& bounds) const;
  // The same without a message, for many candidates.
  bool Accepts(const TileBounds& bounds) const;

  absl::Span<const TileLoop> loops() const { return loops_; }
  // Parameters in order (those that are used and not empty, and not only written into), then the
  // arrays of the result.
  absl::Span<const TileOperand> operands() const { return operands_; }
  // The operations that compute something, operands before users; without the hero if it is a
  // convolution.
  absl::Span<const TileOp> ops() const { return ops_; }
  // Null unless the hero is a convolution.
  const MatrixWork* matrix_work() const { return matrix_work_ ? &*matrix_work_ : nullptr; }

  // REQUIRES: Check(bounds).ok(). Reuses the memory of *result. Counts that leave int64 saturate.
  void Evaluate(const TileBounds& bounds, TileEvaluation* result) const;
  TileEvaluation Evaluate(const TileBounds& bounds) const;

  // The bounds with `input` and `iteration` filled in as the compiler derives them. REQUIRES:
  // Check(bounds).ok().
  TileBounds Complete(const TileBounds& bounds) const;

 private:
  friend class TileGeometryBuilder;
  TileGeometry() = default;

  // Why bounds do not fit: the first reason found.
  struct Misfit {
    enum Kind { kNone, kOutput, kKernel, kTied } kind = kNone;
    int position = -1;  // of a tied kernel bound
  };
  Misfit FindMisfit(const TileBounds& bounds) const;
  std::vector<int64_t> TiedKernelBounds(int position) const;
  // The largest layout tile that an operand has along a loop, in tiles of what the loop advances
  // by: the compiler cuts no tile of any operand.
  int64_t Granule(size_t loop) const;

  void SetSteps(const TileBounds& bounds, TileEvaluation* result) const;
  void AddOperand(const TileOperand& operand, TileEvaluation* result) const;
  int64_t AccumulatorBytes(const TileEvaluation& tile) const;
  int64_t InputCopyBytes(const TileEvaluation& tile) const;

  HeroKind hero_kind_ = HeroKind::kElementwise;
  std::vector<BoundDim> output_dims_;
  std::vector<BoundDim> kernel_dims_;
  std::vector<int> tied_output_;
  std::vector<TileLoop> loops_;
  std::vector<TileOperand> operands_;
  std::vector<TileOp> ops_;
  std::optional<MatrixWork> matrix_work_;
  // Of the hero's first operand, in physical order; empty if the compiler gives no input bounds.
  Windows hero_input_;
  int64_t hero_input_bits_ = 32;
};

}  // namespace autotune

#endif  // AUTOTUNE_HLO_TILE_GEOMETRY_H_
