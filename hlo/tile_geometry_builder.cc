#include "hlo/tile_geometry_builder.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "hlo/computation.h"
#include "hlo/convolution_loops.h"
#include "hlo/int_math.h"
#include "hlo/tile_hero.h"

namespace autotune {
namespace {

constexpr int64_t kSublanes = 8;
constexpr int64_t kLanes = 128;

Layout LayoutOf(const Shape& shape) {
  return shape.has_layout() ? shape.layout() : Layout::Default(shape.rank());
}

// Elements of the first-level tile along each of its dimensions, major to minor.
absl::InlinedVector<int64_t, 2> TileExtents(const Shape& shape) {
  if (shape.has_layout() && !shape.layout().tiles.empty()) {
    absl::InlinedVector<int64_t, 2> extents = shape.layout().tiles[0].dimensions;
    for (int64_t& extent : extents) extent = std::max<int64_t>(1, extent);
    // Bounds count 8 sublanes even where small elements have tiles of 16 or 32 rows.
    if (extents.size() == 2) extents[0] = std::min(extents[0], kSublanes);
    return extents;
  }
  if (shape.rank() >= 2) return {kSublanes, kLanes};
  return {kSublanes * kLanes};
}

int64_t BitsPerElement(const Shape& shape) {
  const int64_t packed = shape.has_layout() ? shape.layout().element_size_in_bits : 0;
  return packed > 0 ? packed : int64_t{8} * ByteWidth(shape.element_type());
}

int64_t TileBytes(const Shape& shape) {
  int64_t elements = 1;
  for (const int64_t extent : TileExtents(shape)) elements = SaturatingMultiply(elements, extent);
  return std::max<int64_t>(1, SaturatingMultiply(elements, BitsPerElement(shape)) / 8);
}

// Operations that cost nothing by themselves.
bool ComputesNothing(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kParameter:
    case HloOpcode::kConstant:
    case HloOpcode::kTuple:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kFusion:
    case HloOpcode::kBitcast:
      return true;
    default:
      return false;
  }
}

// The elements in a 32-bit vector register along a physical dimension.
int64_t RegisterExtent(int64_t rank, int64_t position) {
  if (rank == 1) return kSublanes * kLanes;
  if (position == rank - 1) return kLanes;
  return position == rank - 2 ? kSublanes : 1;
}

int64_t WindowVolume(const HloInstruction& instruction) {
  int64_t volume = 1;
  for (const auto& dimension : instruction.attributes().window().dimensions()) {
    volume = SaturatingMultiply(volume, std::max<int64_t>(1, dimension.size()));
  }
  return volume;
}

int64_t CombinedElements(const HloInstruction& instruction) {
  if (instruction.opcode() == HloOpcode::kReduceWindow) return WindowVolume(instruction);
  if (instruction.opcode() == HloOpcode::kConvolution) {
    const auto& numbers = instruction.attributes().convolution_dimension_numbers();
    const Shape& kernel = instruction.operand(1).shape();
    const int64_t features = numbers.kernel_input_feature_dimension();
    return SaturatingMultiply(WindowVolume(instruction),
                              features < kernel.rank() ? kernel.dimensions(features) : 1);
  }
  return 1;
}

}  // namespace

std::vector<BoundDim> PhysicalBoundDims(const Shape& shape) {
  const Layout layout = LayoutOf(shape);
  const auto tile = TileExtents(shape);
  const size_t rank = static_cast<size_t>(shape.rank());
  std::vector<BoundDim> dims(rank);
  for (size_t p = 0; p < rank; ++p) {
    BoundDim& dim = dims[p];
    dim.elements = std::max<int64_t>(1, shape.dimensions(layout.minor_to_major[rank - 1 - p]));
    const size_t from_minor = rank - 1 - p;
    if (from_minor < tile.size()) dim.tile = tile[tile.size() - 1 - from_minor];
    dim.tiles = CeilDiv(dim.elements, dim.tile);
  }
  return dims;
}

Windows PhysicalWindows(const Windows& logical, const Shape& shape) {
  const Layout layout = LayoutOf(shape);
  const std::vector<BoundDim> dims = PhysicalBoundDims(shape);
  Windows physical;
  for (size_t p = 0; p < dims.size(); ++p) {
    const int64_t d = layout.minor_to_major[dims.size() - 1 - p];
    physical.push_back(logical[static_cast<size_t>(d)].WithElements(dims[p].elements));
    physical.back().tile = dims[p].tile;
  }
  return physical;
}

TileGeometryBuilder::TileGeometryBuilder(const HloInstruction& operation)
    : operation_(operation), propagation_(operation) {
  const Shape& shape = operation.shape();
  const int64_t count = shape.IsTuple() ? static_cast<int64_t>(shape.tuple_shapes().size()) : 1;
  for (int64_t i = 0; i < count; ++i) results_.push_back(FindInPlaceUpdate(operation, i));
}

absl::Status TileGeometryBuilder::FindHero() {
  absl::StatusOr<TileHero> hero = FindTileHero(operation_, propagation_.instructions());
  if (!hero.ok()) return hero.status();
  hero_ = hero->instruction;
  geometry_.hero_kind_ = hero->kind;
  return absl::OkStatus();
}

absl::Status TileGeometryBuilder::BuildConvolution() {
  absl::StatusOr<ConvolutionLoops> loops = BuildConvolutionLoops(*hero_);
  if (!loops.ok()) return loops.status();
  geometry_.output_dims_ = PhysicalBoundDims(hero_->shape());
  geometry_.kernel_dims_ = PhysicalBoundDims(hero_->operand(1).shape());
  geometry_.loops_ = std::move(loops->loops);
  geometry_.tied_output_ = std::move(loops->tied_output);
  geometry_.matrix_work_ = std::move(loops->work);
  geometry_.hero_input_bits_ = BitWidth(hero_->operand(0).shape().element_type());
  propagation_.Set(*hero_, loops->output);
  propagation_.Set(hero_->operand(0), loops->input);
  propagation_.Set(hero_->operand(1), loops->kernel);
  return absl::OkStatus();
}

// The compiler runs a window reduction as a depthwise convolution: the loops over the two minor
// physical dimensions come first, then the others by number.
absl::Status TileGeometryBuilder::BuildReduceWindow() {
  const Shape& shape = hero_->shape().IsTuple() ? FirstArray(hero_->shape()) : hero_->shape();
  const auto& window = hero_->attributes().window();
  const int64_t rank = shape.rank();
  if (window.dimensions_size() != rank || hero_->operand(0).shape().rank() != rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("The window of ", hero_->name(), " does not fit its shape"));
  }
  geometry_.output_dims_ = PhysicalBoundDims(shape);
  const Layout layout = LayoutOf(shape);
  std::vector<int64_t> order;
  if (rank > 1) order.push_back(layout.minor_to_major[1]);
  order.push_back(layout.minor_to_major[0]);
  for (int64_t d = 0; d < rank; ++d) {
    if (std::find(order.begin(), order.end(), d) == order.end()) order.push_back(d);
  }
  Windows output(static_cast<size_t>(rank));
  Windows input(static_cast<size_t>(rank));
  for (const int64_t d : order) {
    const auto minor = std::find(layout.minor_to_major.begin(), layout.minor_to_major.end(), d);
    const int position = static_cast<int>(rank - 1 - (minor - layout.minor_to_major.begin()));
    const BoundDim& dim = geometry_.output_dims_[static_cast<size_t>(position)];
    TileLoop loop;
    loop.role = LoopRole::kSpatial;
    loop.elements = dim.elements;
    loop.tile = dim.tile;
    loop.output_position = position;
    const int index = static_cast<int>(geometry_.loops_.size());
    geometry_.loops_.push_back(loop);
    const proto::WindowDimension& w = window.dimensions(static_cast<int>(d));
    const int64_t size = std::max<int64_t>(1, w.size());
    const int64_t extent = hero_->operand(0).shape().dimensions(d);
    const int64_t stride = std::max<int64_t>(1, w.stride());
    output[static_cast<size_t>(d)] = WindowDim::OfLoop(dim.elements, index);
    WindowDim in = WindowDim::OfLoop(extent, index);
    // (step - 1) * stride + reach, written as a window convolved with itself.
    in.convolved = size > 1 || stride > 1;
    if (in.convolved) {
      in.loops.push_back(static_cast<int8_t>(index));
      in.stride = stride;
      in.dilation = 0;
      in.halo = SaturatingMultiply(size - 1, std::max<int64_t>(1, w.window_dilation()));
      in.divisor = std::max<int64_t>(1, w.base_dilation());
      in.padding_low = std::max<int64_t>(0, w.padding_low());
      in.padding_high = std::max<int64_t>(0, w.padding_high());
    }
    input[static_cast<size_t>(d)] = in;
  }
  // Windows are never cut: the kernel bounds are those of the whole window.
  for (int64_t p = 0; p < rank; ++p) {
    const int64_t d = layout.minor_to_major[static_cast<size_t>(rank - 1 - p)];
    const int64_t size = std::max<int64_t>(1, window.dimensions(static_cast<int>(d)).size());
    geometry_.kernel_dims_.push_back(BoundDim{size, 1, size});
  }
  geometry_.tied_output_.assign(static_cast<size_t>(rank), -1);
  propagation_.Set(*hero_, output);
  propagation_.Set(hero_->operand(0), input);
  return absl::OkStatus();
}

// One loop for each physical dimension of `tiled`, which is the hero, the input of a reduction, or
// what the hero writes into an array.
absl::Status TileGeometryBuilder::BuildPlain(const HloInstruction& tiled) {
  const Shape& shape = FirstArray(tiled.shape());
  if (!shape.IsArray()) {
    return absl::InvalidArgumentError(
        absl::StrCat("The result of ", hero_->name(), " is no array"));
  }
  if (shape.rank() > kMaxTileLoops) {
    return absl::InvalidArgumentError(
        absl::StrCat(hero_->name(), " has more dimensions than a tile can have"));
  }
  geometry_.output_dims_ = PhysicalBoundDims(shape);
  const Layout layout = LayoutOf(shape);
  const size_t rank = geometry_.output_dims_.size();
  Windows windows(rank);
  const auto reduced = hero_->dimensions();
  for (size_t p = 0; p < rank; ++p) {
    const BoundDim& dim = geometry_.output_dims_[p];
    const int64_t d = layout.minor_to_major[rank - 1 - p];
    TileLoop loop;
    loop.elements = dim.elements;
    loop.tile = dim.tile;
    loop.output_position = static_cast<int>(p);
    loop.reduced = geometry_.hero_kind_ == HeroKind::kReduce &&
                   std::find(reduced.begin(), reduced.end(), d) != reduced.end();
    geometry_.loops_.push_back(loop);
    windows[static_cast<size_t>(d)] = WindowDim::OfLoop(dim.elements, static_cast<int>(p));
  }
  propagation_.Set(tiled, windows);
  return absl::OkStatus();
}

absl::Status TileGeometryBuilder::BuildLoops() {
  switch (geometry_.hero_kind_) {
    case HeroKind::kConvolution:
      return BuildConvolution();
    case HeroKind::kReduceWindow:
      return BuildReduceWindow();
    case HeroKind::kReduce:
      return BuildPlain(hero_->operand(0));
    case HeroKind::kElementwise:
    case HeroKind::kDataMovement:
      return BuildPlain(results_.empty() || !results_[0] ? *hero_ : *results_[0]->update);
  }
  return absl::InternalError("unknown kind of hero");
}

namespace {

TileOperand MakeOperand(const Shape& shape, const Windows* windows) {
  TileOperand operand;
  operand.element_type = shape.element_type();
  operand.memory_space = shape.has_layout() ? shape.layout().memory_space : 0;
  operand.tile_bytes = TileBytes(shape);
  operand.windowed = windows != nullptr && static_cast<int64_t>(windows->size()) == shape.rank();
  Windows logical;
  if (operand.windowed) {
    logical = *windows;
  } else {
    for (const int64_t extent : shape.dimensions()) logical.push_back(WindowDim::Whole(extent));
  }
  operand.dims = PhysicalWindows(logical, shape);
  operand.total_bytes = operand.tile_bytes;
  for (const WindowDim& dim : operand.dims) {
    operand.total_bytes = SaturatingMultiply(operand.total_bytes, CeilDiv(dim.elements, dim.tile));
    operand.loop_mask |= dim.LoopMask();
  }
  return operand;
}

}  // namespace

void TileGeometryBuilder::SetHeroInput() {
  const bool windowed = geometry_.hero_kind_ == HeroKind::kConvolution ||
                        geometry_.hero_kind_ == HeroKind::kReduceWindow ||
                        hero_->opcode() == HloOpcode::kCopy;
  if (!windowed) return;
  const Windows* input = propagation_.Find(hero_->operand(0));
  if (input != nullptr) {
    geometry_.hero_input_ = PhysicalWindows(*input, hero_->operand(0).shape());
  }
}

void TileGeometryBuilder::AddOperands() {
  absl::flat_hash_set<const HloInstruction*> seen;
  for (const std::optional<InPlaceUpdate>& result : results_) {
    // An array that is only written into does not move.
    if (result && !result->is_read) seen.insert(result->parameter);
  }
  for (const HloInstruction* parameter : operation_.operands()) {
    if (!parameter->shape().IsArray() || !seen.insert(parameter).second) continue;
    if (parameter->shape().ElementsIn() == 0) continue;
    if (parameter->opcode() != HloOpcode::kParameter) continue;
    TileOperand operand = MakeOperand(parameter->shape(), propagation_.Find(*parameter));
    operand.index = static_cast<int>(parameter->parameter_number());
    geometry_.operands_.push_back(std::move(operand));
  }
  const Shape& whole = operation_.shape();
  for (size_t i = 0; i < results_.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    const HloInstruction& written =
        results_[i] ? *results_[i]->update : *ResultInstruction(operation_, index);
    const Shape& result = whole.IsTuple() ? whole.tuple_shapes(index) : whole;
    const Shape& shape = results_[i] ? written.shape() : result;
    if (!shape.IsArray() || shape.ElementsIn() == 0) continue;
    TileOperand operand = MakeOperand(shape, propagation_.Find(written));
    operand.memory_space = result.has_layout() ? result.layout().memory_space : 0;
    operand.is_output = true;
    operand.index = static_cast<int>(i);
    geometry_.operands_.push_back(std::move(operand));
  }
}

void TileGeometryBuilder::MarkDownstream() {
  absl::flat_hash_set<const HloInstruction*> reached = {hero_};
  for (const HloInstruction* instruction : propagation_.instructions()) {
    if (reached.contains(instruction)) continue;
    const auto operands = instruction->operands();
    const bool uses = std::any_of(operands.begin(), operands.end(),
                                  [&](const HloInstruction* o) { return reached.contains(o); });
    if (!uses) continue;
    reached.insert(instruction);
    downstream_.push_back(instruction);
  }
}

void TileGeometryBuilder::AddOps() {
  MarkDownstream();
  const absl::flat_hash_set<const HloInstruction*> downstream(downstream_.begin(),
                                                              downstream_.end());
  for (const HloInstruction* instruction : propagation_.instructions()) {
    const bool is_reduce = instruction->opcode() == HloOpcode::kReduce;
    const bool is_in_place = std::any_of(results_.begin(), results_.end(), [&](const auto& result) {
      return result && result->operation == instruction;
    });
    const bool outside =
        &instruction->parent() == &operation_.parent() && instruction != &operation_;
    if (outside || ComputesNothing(instruction->opcode())) continue;
    if (instruction == hero_ && geometry_.hero_kind_ == HeroKind::kConvolution) continue;
    const HloInstruction& measured = is_reduce     ? instruction->operand(0)
                                     : is_in_place ? instruction->operand(1)
                                                   : *instruction;
    const Shape& shape = FirstArray(measured.shape());
    const Windows* windows = propagation_.Find(measured);
    if (windows == nullptr || !shape.IsArray()) continue;
    if (static_cast<int64_t>(windows->size()) != shape.rank()) continue;
    TileOp op;
    op.opcode = instruction->opcode();
    op.element_type = FirstArray(instruction->shape()).element_type();
    op.stage =
        downstream.contains(instruction) ? TileStage::kLastReduction : TileStage::kEveryIteration;
    op.combined = CombinedElements(*instruction);
    op.dims = PhysicalWindows(*windows, shape);
    const int64_t rank = static_cast<int64_t>(op.dims.size());
    for (int64_t p = 0; p < rank; ++p) {
      op.dims[static_cast<size_t>(p)].tile = RegisterExtent(rank, p);
    }
    geometry_.ops_.push_back(std::move(op));
  }
}

// No device holds such a dimension, and listing its bounds would take minutes.
absl::Status TileGeometryBuilder::CheckExtents() const {
  for (const auto* dims : {&geometry_.output_dims_, &geometry_.kernel_dims_}) {
    for (const BoundDim& dim : *dims) {
      if (dim.tiles <= kMaxTilesOfDimension) continue;
      return absl::InvalidArgumentError(absl::StrCat(hero_->name(), " has a dimension of ",
                                                     dim.elements, " elements, more than ",
                                                     kMaxTilesOfDimension, " tiles"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<TileGeometry> TileGeometryBuilder::Build() && {
  if (const absl::Status status = FindHero(); !status.ok()) return status;
  if (const absl::Status status = BuildLoops(); !status.ok()) return status;
  if (const absl::Status status = CheckExtents(); !status.ok()) return status;
  propagation_.Run();
  SetHeroInput();
  AddOperands();
  AddOps();
  return std::move(geometry_);
}

}  // namespace autotune
