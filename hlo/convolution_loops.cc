#include "hlo/convolution_loops.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hlo/element_type.h"
#include "hlo/int_math.h"
#include "hlo/tile_geometry_builder.h"

namespace autotune {
namespace {

// What a spatial dimension really stands for. The TPU compiler turns every matrix product into a
// convolution: batch dimensions and further free dimensions become spatial ones.
enum class SpatialKind { kWindow, kBatch, kFeature };

// One spatial dimension of a convolution.
struct Spatial {
  int64_t input_dimension, kernel_dimension, output_dimension;
  int64_t input_extent, kernel_extent, output_extent;
  proto::WindowDimension window;
  SpatialKind kind = SpatialKind::kWindow;
  int output_loop = -1;
  int kernel_loop = -1;
};

// Each output sees exactly one window position and one input, both of its own index: either by a
// stride that undoes all but one step of the dilation, or by its mirror image.
bool IsBatchDimension(const Spatial& s) {
  const int64_t n = s.kernel_extent;
  if (n < 2 || s.input_extent != n || s.output_extent != n) return false;
  const proto::WindowDimension& w = s.window;
  if (w.padding_low() == 0 && w.padding_high() == 0) {
    return w.base_dilation() == n && w.stride() == std::max<int64_t>(1, n - 1);
  }
  return w.padding_low() == n - 1 && w.padding_high() == n - 1 && w.stride() == n &&
         w.base_dilation() == std::max<int64_t>(1, n - 1);
}

// Each output sees the one input through a window position of its own.
bool IsFeatureDimension(const Spatial& s) {
  const int64_t n = s.kernel_extent;
  return n > 1 && s.input_extent == 1 && s.output_extent == n && s.window.padding_low() == n - 1 &&
         s.window.padding_high() == n - 1;
}

class LoopBuilder {
 public:
  explicit LoopBuilder(const HloInstruction& convolution)
      : convolution_(convolution),
        numbers_(convolution.attributes().convolution_dimension_numbers()) {}

  absl::StatusOr<ConvolutionLoops> Build() &&;

 private:
  const Shape& input() const { return convolution_.operand(0).shape(); }
  const Shape& kernel() const { return convolution_.operand(1).shape(); }
  const Shape& output() const { return convolution_.shape(); }

  absl::Status ReadSpatial();
  int AddOutputLoop(LoopRole role, int64_t output_dimension);
  int AddKernelLoop(LoopRole role, int64_t kernel_dimension);
  void AddLoops();
  void SetWindows();
  void SetSpatialWindows(const Spatial& spatial);
  void SetTies();
  void SetWork();

  const HloInstruction& convolution_;
  const proto::ConvolutionDimensionNumbers& numbers_;
  std::vector<Spatial> spatial_;
  int feature_loop_ = -1;
  int batch_loop_ = -1;
  int contracted_loop_ = -1;
  ConvolutionLoops result_;
};

// Where a logical dimension stands in physical order.
int PhysicalPosition(const Shape& shape, int64_t dimension) {
  const Layout layout = shape.has_layout() ? shape.layout() : Layout::Default(shape.rank());
  for (size_t i = 0; i < layout.minor_to_major.size(); ++i) {
    if (layout.minor_to_major[i] == dimension)
      return static_cast<int>(shape.rank() - 1) - static_cast<int>(i);
  }
  return -1;
}

bool IsPermutation(std::vector<int64_t> dimensions, int64_t rank) {
  std::sort(dimensions.begin(), dimensions.end());
  if (static_cast<int64_t>(dimensions.size()) != rank) return false;
  for (int64_t d = 0; d < rank; ++d) {
    if (dimensions[static_cast<size_t>(d)] != d) return false;
  }
  return true;
}

absl::Status LoopBuilder::ReadSpatial() {
  const int count = numbers_.output_spatial_dimensions_size();
  const auto all = [](int64_t a, int64_t b, const auto& spatial) {
    std::vector<int64_t> dimensions(spatial.begin(), spatial.end());
    dimensions.push_back(a);
    dimensions.push_back(b);
    return dimensions;
  };
  if (!IsPermutation(all(numbers_.input_batch_dimension(), numbers_.input_feature_dimension(),
                         numbers_.input_spatial_dimensions()),
                     input().rank()) ||
      !IsPermutation(
          all(numbers_.kernel_input_feature_dimension(), numbers_.kernel_output_feature_dimension(),
              numbers_.kernel_spatial_dimensions()),
          kernel().rank()) ||
      !IsPermutation(all(numbers_.output_batch_dimension(), numbers_.output_feature_dimension(),
                         numbers_.output_spatial_dimensions()),
                     output().rank()) ||
      convolution_.attributes().window().dimensions_size() != count ||
      numbers_.input_spatial_dimensions_size() != count ||
      numbers_.kernel_spatial_dimensions_size() != count) {
    return absl::InvalidArgumentError(absl::StrCat("The dimension numbers of ", convolution_.name(),
                                                   " do not fit its shapes and window"));
  }
  for (int i = 0; i < count; ++i) {
    Spatial s;
    s.input_dimension = numbers_.input_spatial_dimensions(i);
    s.kernel_dimension = numbers_.kernel_spatial_dimensions(i);
    s.output_dimension = numbers_.output_spatial_dimensions(i);
    s.input_extent = input().dimensions(s.input_dimension);
    s.kernel_extent = kernel().dimensions(s.kernel_dimension);
    s.output_extent = output().dimensions(s.output_dimension);
    s.window = convolution_.attributes().window().dimensions(i);
    s.kind = IsBatchDimension(s)     ? SpatialKind::kBatch
             : IsFeatureDimension(s) ? SpatialKind::kFeature
                                     : SpatialKind::kWindow;
    spatial_.push_back(s);
  }
  return absl::OkStatus();
}

int LoopBuilder::AddOutputLoop(LoopRole role, int64_t output_dimension) {
  TileLoop loop;
  loop.role = role;
  loop.output_position = PhysicalPosition(output(), output_dimension);
  const BoundDim dim = PhysicalBoundDims(output())[static_cast<size_t>(loop.output_position)];
  loop.elements = dim.elements;
  loop.tile = dim.tile;
  result_.loops.push_back(loop);
  return static_cast<int>(result_.loops.size()) - 1;
}

int LoopBuilder::AddKernelLoop(LoopRole role, int64_t kernel_dimension) {
  TileLoop loop;
  loop.role = role;
  loop.kernel_position = PhysicalPosition(kernel(), kernel_dimension);
  const BoundDim dim = PhysicalBoundDims(kernel())[static_cast<size_t>(loop.kernel_position)];
  loop.elements = dim.elements;
  loop.tile = dim.tile;
  loop.reduced = true;
  result_.loops.push_back(loop);
  return static_cast<int>(result_.loops.size()) - 1;
}

// In the compiler's order: see LoopRole.
void LoopBuilder::AddLoops() {
  for (Spatial& s : spatial_) {
    if (s.kind != SpatialKind::kBatch) continue;
    s.output_loop = AddOutputLoop(LoopRole::kBatchSpatial, s.output_dimension);
  }
  feature_loop_ = AddOutputLoop(LoopRole::kOutputFeature, numbers_.output_feature_dimension());
  for (Spatial& s : spatial_) {
    if (s.kind != SpatialKind::kFeature) continue;
    s.output_loop = AddOutputLoop(LoopRole::kFeatureSpatial, s.output_dimension);
  }
  batch_loop_ = AddOutputLoop(LoopRole::kBatch, numbers_.output_batch_dimension());
  for (Spatial& s : spatial_) {
    if (s.kind != SpatialKind::kWindow) continue;
    s.output_loop = AddOutputLoop(LoopRole::kSpatial, s.output_dimension);
  }
  for (Spatial& s : spatial_) {
    if (s.kind != SpatialKind::kWindow) continue;
    s.kernel_loop = AddKernelLoop(LoopRole::kKernelSpatial, s.kernel_dimension);
  }
  contracted_loop_ =
      AddKernelLoop(LoopRole::kInputFeature, numbers_.kernel_input_feature_dimension());
}

void LoopBuilder::SetSpatialWindows(const Spatial& s) {
  WindowDim& in = result_.input[static_cast<size_t>(s.input_dimension)];
  WindowDim& weights = result_.kernel[static_cast<size_t>(s.kernel_dimension)];
  result_.output[static_cast<size_t>(s.output_dimension)] =
      WindowDim::OfLoop(s.output_extent, s.output_loop);
  if (s.kind != SpatialKind::kWindow) {
    weights = WindowDim::OfLoop(s.kernel_extent, s.output_loop);
    in = s.kind == SpatialKind::kBatch ? WindowDim::OfLoop(s.input_extent, s.output_loop)
                                       : WindowDim::Whole(1);
    return;
  }
  weights = WindowDim::OfLoop(s.kernel_extent, s.kernel_loop);
  in = WindowDim::Whole(s.input_extent);
  in.loops = {static_cast<int8_t>(s.output_loop), static_cast<int8_t>(s.kernel_loop)};
  in.convolved = true;
  in.stride = std::max<int64_t>(1, s.window.stride());
  in.dilation = std::max<int64_t>(1, s.window.window_dilation());
  in.divisor = std::max<int64_t>(1, s.window.base_dilation());
  in.padding_low = std::max<int64_t>(0, s.window.padding_low()) / in.divisor;
  // What the last window really reaches beyond the input, which may be less than the padding.
  const int64_t window_reach = SaturatingAdd(SaturatingMultiply(s.output_extent - 1, in.stride),
                                             SaturatingMultiply(s.kernel_extent - 1, in.dilation));
  const int64_t last_input = SaturatingMultiply(s.input_extent - 1, in.divisor);
  const int64_t beyond =
      SaturatingSubtract(SaturatingSubtract(window_reach, s.window.padding_low()), last_input);
  in.padding_high = std::max<int64_t>(0, beyond) / in.divisor;
}

void LoopBuilder::SetWindows() {
  result_.input.resize(static_cast<size_t>(input().rank()));
  result_.kernel.resize(static_cast<size_t>(kernel().rank()));
  result_.output.resize(static_cast<size_t>(output().rank()));
  const auto set = [](Windows* windows, const Shape& shape, int64_t dimension, int loop) {
    (*windows)[static_cast<size_t>(dimension)] =
        WindowDim::OfLoop(shape.dimensions(dimension), loop);
  };
  set(&result_.output, output(), numbers_.output_batch_dimension(), batch_loop_);
  set(&result_.output, output(), numbers_.output_feature_dimension(), feature_loop_);
  set(&result_.kernel, kernel(), numbers_.kernel_output_feature_dimension(), feature_loop_);
  set(&result_.kernel, kernel(), numbers_.kernel_input_feature_dimension(), contracted_loop_);
  set(&result_.input, input(), numbers_.input_batch_dimension(), batch_loop_);
  set(&result_.input, input(), numbers_.input_feature_dimension(), contracted_loop_);
  WindowDim& features = result_.input[static_cast<size_t>(numbers_.input_feature_dimension())];
  if (convolution_.attributes().feature_group_count() > 1) {
    // Groups of features go with output features.
    features.loops = {static_cast<int8_t>(feature_loop_)};
    features.multiplier = features.elements;
    features.divisor = result_.loops[static_cast<size_t>(feature_loop_)].elements;
  }
  WindowDim& batch = result_.input[static_cast<size_t>(numbers_.input_batch_dimension())];
  if (convolution_.attributes().batch_group_count() > 1) batch = WindowDim::Whole(batch.elements);
  for (const Spatial& s : spatial_) SetSpatialWindows(s);
}

void LoopBuilder::SetTies() {
  result_.tied_output.assign(static_cast<size_t>(kernel().rank()), -1);
  const auto tie = [&](int64_t kernel_dimension, int64_t output_dimension) {
    result_.tied_output[static_cast<size_t>(PhysicalPosition(kernel(), kernel_dimension))] =
        PhysicalPosition(output(), output_dimension);
  };
  tie(numbers_.kernel_output_feature_dimension(), numbers_.output_feature_dimension());
  for (const Spatial& s : spatial_) {
    if (s.kind != SpatialKind::kWindow) tie(s.kernel_dimension, s.output_dimension);
  }
}

bool IsSmallInteger(const Shape& shape) {
  return IsIntegral(shape.element_type()) && BitWidth(shape.element_type()) <= 8;
}

// The stationary operand is the one whose free dimension lies along the lanes of the result.
void LoopBuilder::SetWork() {
  MatrixWork& work = result_.work;
  const int lanes = static_cast<int>(output().rank()) - 1;
  int lane_loop = feature_loop_;
  for (size_t l = 0; l < result_.loops.size(); ++l) {
    const TileLoop& loop = result_.loops[l];
    const bool may_be = loop.role == LoopRole::kBatch || loop.role == LoopRole::kSpatial;
    if (may_be && loop.output_position == lanes) lane_loop = static_cast<int>(l);
  }
  const bool kernel_is_stationary = lane_loop == feature_loop_;
  for (size_t l = 0; l < result_.loops.size(); ++l) {
    const int8_t index = static_cast<int8_t>(l);
    const LoopRole role = result_.loops[l].role;
    const bool of_input = role == LoopRole::kBatch || role == LoopRole::kSpatial;
    const bool of_kernel = role == LoopRole::kOutputFeature || role == LoopRole::kFeatureSpatial;
    if (static_cast<int>(l) == lane_loop) {
      work.lane_loops.push_back(index);
    } else if (static_cast<int>(l) == contracted_loop_) {
      work.contracted_loop = index;
    } else if (kernel_is_stationary ? of_input : of_kernel) {
      work.row_loops.push_back(index);
    } else {
      work.position_loops.push_back(index);
    }
  }
  work.integer = IsSmallInteger(input()) && IsSmallInteger(kernel());
  for (const int precision : convolution_.attributes().precision_config().operand_precision()) {
    if (precision == proto::PrecisionConfig::HIGH) {
      work.precision_passes = std::max(work.precision_passes, 3);
    } else if (precision == proto::PrecisionConfig::HIGHEST) {
      work.precision_passes = std::max(work.precision_passes, 6);
    }
  }
}

absl::StatusOr<ConvolutionLoops> LoopBuilder::Build() && {
  if (const absl::Status status = ReadSpatial(); !status.ok()) return status;
  AddLoops();
  if (result_.loops.size() > static_cast<size_t>(kMaxTileLoops)) {
    return absl::InvalidArgumentError(
        absl::StrCat(convolution_.name(), " has more dimensions than a tile can have"));
  }
  SetWindows();
  SetTies();
  SetWork();
  return std::move(result_);
}

}  // namespace

absl::StatusOr<ConvolutionLoops> BuildConvolutionLoops(const HloInstruction& convolution) {
  if (convolution.operand_count() < 2) {
    return absl::InvalidArgumentError(absl::StrCat(convolution.name(), " lacks operands"));
  }
  return LoopBuilder(convolution).Build();
}

}  // namespace autotune
