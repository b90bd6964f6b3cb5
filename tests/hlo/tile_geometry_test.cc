#include "hlo/tile_geometry.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/module.h"
#include "hlo/parser.h"
#include "hlo/tile_steps.h"

namespace autotune {
namespace {

using ::testing::ElementsAre;

// fusion.191 of the recorded AlexNet step without its second result: a 3x3 convolution with bias.
constexpr char kConvolution[] = R"(
HloModule conv, entry_computation_layout={(f32[384]{0:T(512)}, bf16[32,12,12,192]{3,0,2,1:T(8,128)(2,1)}, f32[3,3,192,384]{3,2,1,0:T(8,128)})->bf16[32,12,12,384]{3,0,2,1:T(8,128)(2,1)}}

%fused (p0: f32[384], p1: bf16[32,12,12,192], p2: f32[3,3,192,384]) -> bf16[32,12,12,384] {
  %p1 = bf16[32,12,12,192]{3,0,2,1:T(8,128)(2,1)} parameter(1)
  %p2 = f32[3,3,192,384]{3,2,1,0:T(8,128)} parameter(2)
  %conv = f32[32,12,12,384]{3,0,2,1:T(8,128)} convolution(%p1, %p2), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  %p0 = f32[384]{0:T(512)} parameter(0)
  %bias = f32[32,12,12,384]{3,0,2,1:T(8,128)} broadcast(%p0), dimensions={3}
  %add = f32[32,12,12,384]{3,0,2,1:T(8,128)} add(%conv, %bias)
  ROOT %out = bf16[32,12,12,384]{3,0,2,1:T(8,128)(2,1)} convert(%add)
}

ENTRY %main (a: f32[384], b: bf16[32,12,12,192], c: f32[3,3,192,384]) -> bf16[32,12,12,384] {
  %a = f32[384]{0:T(512)} parameter(0)
  %b = bf16[32,12,12,192]{3,0,2,1:T(8,128)(2,1)} parameter(1)
  %c = f32[3,3,192,384]{3,2,1,0:T(8,128)} parameter(2)
  ROOT %conv_fusion = bf16[32,12,12,384]{3,0,2,1:T(8,128)(2,1)} fusion(%a, %b, %c), kind=kOutput, calls=%fused
}
)";

// fusion.232 of the same step, without the mask's arithmetic.
constexpr char kReduce[] = R"(
HloModule reduce, entry_computation_layout={(f32[32,26,26,192]{3,0,2,1:T(8,128)}, f32[32,26,192]{2,0,1:T(8,128)})->f32[192]{0:T(256)}}

%sum (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %add = f32[] add(%x, %y)
}

%fused (p0: f32[32,26,26,192], p1: f32[32,26,192]) -> f32[192] {
  %p0 = f32[32,26,26,192]{3,0,2,1:T(8,128)} parameter(0)
  %p1 = f32[32,26,192]{2,0,1:T(8,128)} parameter(1)
  %mask = f32[32,26,26,192]{3,0,2,1:T(8,128)} broadcast(%p1), dimensions={0,2,3}
  %product = f32[32,26,26,192]{3,0,2,1:T(8,128)} multiply(%p0, %mask)
  %zero = f32[] constant(0)
  ROOT %reduce = f32[192]{0:T(256)} reduce(%product, %zero), dimensions={0,1,2}, to_apply=%sum
}

ENTRY %main (a: f32[32,26,26,192], b: f32[32,26,192]) -> f32[192] {
  %a = f32[32,26,26,192]{3,0,2,1:T(8,128)} parameter(0)
  %b = f32[32,26,192]{2,0,1:T(8,128)} parameter(1)
  ROOT %reduce_fusion = f32[192]{0:T(256)} fusion(%a, %b), kind=kLoop, calls=%fused
}
)";

// copy.24: rows of 8 images become rows of 8 pixels.
constexpr char kCopy[] = R"(
HloModule copy, entry_computation_layout={(bf16[32,5,5,256]{3,0,2,1:T(8,128)(2,1)})->bf16[32,5,5,256]{3,2,1,0:T(8,128)(2,1)}}

ENTRY %main (a: bf16[32,5,5,256]) -> bf16[32,5,5,256] {
  %a = bf16[32,5,5,256]{3,0,2,1:T(8,128)(2,1)} parameter(0)
  ROOT %copy = bf16[32,5,5,256]{3,2,1,0:T(8,128)(2,1)} copy(%a)
}
)";

// A batch of 8 matrix products, as the TPU compiler writes it; from a mixture of experts.
constexpr char kBatchDot[] = R"(
HloModule dot, entry_computation_layout={(bf16[8,512,1024]{2,1,0:T(8,128)(2,1)}, bf16[8,1024,4096]{2,1,0:T(8,128)(2,1)})->bf16[8,512,4096]{2,1,0:T(8,128)(2,1)}}

ENTRY %main (a: bf16[8,512,1024], b: bf16[8,1024,4096]) -> bf16[8,512,4096] {
  %a = bf16[8,512,1024]{2,1,0:T(8,128)(2,1)} parameter(0)
  %b = bf16[8,1024,4096]{2,1,0:T(8,128)(2,1)} parameter(1)
  ROOT %dot = bf16[8,512,4096]{2,1,0:T(8,128)(2,1)} convolution(%a, %b), window={size=8 stride=7 lhs_dilate=8}, dim_labels=0bf_0io->0bf
}
)";

TileGeometry Geometry(const std::string& text) {
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  absl::StatusOr<TileGeometry> geometry = TileGeometry::Create(**module);
  EXPECT_TRUE(geometry.ok()) << geometry.status();
  return *std::move(geometry);
}

TileBounds Bounds(WindowBounds kernel, WindowBounds output) {
  TileBounds bounds;
  bounds.kernel = std::move(kernel);
  bounds.output = std::move(output);
  return bounds;
}

TEST(TileGeometryTest, ConvolutionHasTheLoopsThatTheCompilerWrites) {
  const TileGeometry geometry = Geometry(kConvolution);
  EXPECT_EQ(geometry.hero_kind(), HeroKind::kConvolution);
  // Output features, batch, rows, columns, window rows, window columns, input features.
  const TileBounds complete = geometry.Complete(Bounds({3, 1, 16, 3}, {12, 4, 4, 3}));
  EXPECT_THAT(complete.iteration, ElementsAre(1, 1, 1, 3, 1, 3, 2));
  // 12 + 2 rows, 4 columns of one window column, 32 images in tiles of 8, 128 features.
  EXPECT_THAT(complete.input, ElementsAre(14, 4, 4, 1));
}

TEST(TileGeometryTest, ConvolutionCountsBytesWithHaloAndReuse) {
  const TileGeometry geometry = Geometry(kConvolution);
  const TileEvaluation tile = geometry.Evaluate(Bounds({3, 3, 24, 1}, {6, 12, 4, 1}));
  EXPECT_EQ(tile.iterations, 6);
  ASSERT_EQ(geometry.operands().size(), 4u);
  // Bias and weights move with the output features alone; the input is read again for each of them.
  EXPECT_THAT(tile.transfers, ElementsAre(3, 6, 3, 6));
  EXPECT_EQ(tile.window_bytes[2], 3 * 3 * 24 * 8 * 128 * 4);
  EXPECT_EQ(tile.window_bytes[1], 8 * 12 * 4 * 2 * 8 * 128 * 2);
  EXPECT_EQ(tile.window_bytes[3], 6 * 12 * 4 * 1 * 8 * 128 * 2);
  // Of the 8 rows of each input window one lies outside of the image.
  const double input = 6.0 * 7 * 12 * 4 * 2 * 2048;
  const double weights = 3.0 * 3 * 3 * 24 * 4096;
  const double bias = 512 * 4;  // one layout tile holds all of it, three times
  EXPECT_DOUBLE_EQ(tile.bytes_read, input + weights + 3 * bias);
  EXPECT_DOUBLE_EQ(tile.bytes_written, 12.0 * 12 * 4 * 3 * 2048);
  EXPECT_DOUBLE_EQ(tile.padding_waste, 0);
}

TEST(TileGeometryTest, WindowsThatDoNotDivideWaste) {
  const TileGeometry geometry = Geometry(kConvolution);
  const TileEvaluation tile = geometry.Evaluate(Bounds({2, 3, 24, 2}, {12, 12, 4, 2}));
  EXPECT_EQ(tile.iterations, 4);
  // 4 of 3 window rows and 4 of 3 feature tiles are computed.
  EXPECT_NEAR(tile.padding_waste, 1 - 3.0 / 4 * 3 / 4, 1e-12);
  // Two of the three window rows, then one: weights are read once for each pair of loops.
  EXPECT_EQ(tile.transfers[2], 4);
}

TEST(TileGeometryTest, KernelBoundsFollowOutputFeatures) {
  const TileGeometry geometry = Geometry(kConvolution);
  EXPECT_EQ(geometry.TiedOutputPosition(3), 3);
  EXPECT_EQ(geometry.TiedOutputPosition(0), -1);
  EXPECT_EQ(geometry.TiedKernelBound(3, 2), 2);
  EXPECT_THAT(geometry.CanonicalKernelBounds(2), ElementsAre(24, 16));
  EXPECT_THAT(geometry.CanonicalKernelBounds(3), ElementsAre(3, 2, 1));
  EXPECT_THAT(geometry.CanonicalOutputBounds(0), ElementsAre(12, 6, 4, 3, 2, 1));
  const TileBounds torn = Bounds({3, 3, 24, 1}, {12, 12, 4, 3});
  EXPECT_EQ(geometry.Check(torn).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(geometry.Accepts(torn));
  EXPECT_FALSE(geometry.Check(Bounds({3, 3, 24, 3}, {13, 12, 4, 3})).ok());
  EXPECT_FALSE(geometry.Check(Bounds({3, 3, 24, 3}, {12, 12, 4})).ok());
  EXPECT_FALSE(geometry.Check(Bounds({}, {12, 12, 4, 3})).ok());
  EXPECT_TRUE(geometry.Accepts(Bounds({3, 3, 24, 3}, {12, 12, 4, 3})));
}

TEST(TileGeometryTest, ReduceIsBoundedByItsInput) {
  const TileGeometry geometry = Geometry(kReduce);
  EXPECT_EQ(geometry.hero_kind(), HeroKind::kReduce);
  const TileBounds bounds = Bounds({}, {2, 26, 4, 2});
  EXPECT_THAT(geometry.Complete(bounds).iteration, ElementsAre(13, 1, 1, 1));
  const TileEvaluation tile = geometry.Evaluate(bounds);
  // The mask does not depend on the outer rows and the sum not on any loop that makes trips.
  EXPECT_THAT(tile.transfers, ElementsAre(13, 1, 1));
  EXPECT_EQ(tile.window_bytes[0], 2 * 26 * 4 * 2 * 4096);
  EXPECT_EQ(tile.vmem_bytes, 2 * 2 * 26 * 8 * 4096 + 26 * 8 * 4096 + 1024);
  EXPECT_THAT(geometry.CanonicalOutputBounds(1), ElementsAre(26, 13, 9, 7, 6, 5, 4, 3, 2, 1));
}

TEST(TileGeometryTest, CopyBetweenLayoutsReadsTransposedWindows) {
  const TileGeometry geometry = Geometry(kCopy);
  EXPECT_EQ(geometry.hero_kind(), HeroKind::kDataMovement);
  const TileBounds complete = geometry.Complete(Bounds({}, {11, 3, 1, 1}));
  EXPECT_THAT(complete.iteration, ElementsAre(3, 2, 1, 2));
  // 3 rows, all 5 pixels, 11 images in tiles of 8, 128 features.
  EXPECT_THAT(complete.input, ElementsAre(3, 5, 2, 1));
}

TEST(TileGeometryTest, BatchDimensionsOfProductsRunOutermost) {
  const TileGeometry geometry = Geometry(kBatchDot);
  const TileBounds bounds = Bounds({1, 128, 4}, {1, 64, 4});
  ASSERT_TRUE(geometry.Check(bounds).ok()) << geometry.Check(bounds);
  const TileBounds complete = geometry.Complete(bounds);
  EXPECT_THAT(complete.iteration, ElementsAre(8, 8, 1, 1, 1));
  EXPECT_THAT(complete.input, ElementsAre(1, 64, 8));
  // The left factor is read once for each batch, not for each part of the features.
  EXPECT_THAT(geometry.Evaluate(bounds).transfers, ElementsAre(8, 64, 64));
}

TEST(TileGeometryTest, StepsCoverAllIterations) {
  const TileGeometry geometry = Geometry(kConvolution);
  TileEvaluation tile;
  TileSteps steps;
  for (const int64_t rows : {1, 5, 7, 12}) {
    for (const int64_t window_rows : {1, 2, 3}) {
      geometry.Evaluate(Bounds({window_rows, 3, 16, 2}, {rows, 5, 3, 2}), &tile);
      EnumerateTileSteps(geometry.loops(), tile, &steps);
      double count = 0;
      double transfers = 0;
      for (const TileStep& step : steps) {
        count += step.count;
        if (WindowMoves(geometry.operands()[2].loop_mask, step, CutLoops(tile))) {
          transfers += step.count;
        }
      }
      EXPECT_EQ(count, static_cast<double>(tile.iterations));
      EXPECT_EQ(transfers, static_cast<double>(tile.transfers[2]));
    }
  }
}

TEST(TileGeometryTest, SaysWhatHasNoTiles) {
  const auto module = ParseHloText(R"(
HloModule sort, entry_computation_layout={(f32[1024]{0})->f32[1024]{0}}

%less (x: f32[], y: f32[]) -> pred[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %lt = pred[] compare(%x, %y), direction=LT
}

ENTRY %main (a: f32[1024]) -> f32[1024] {
  %a = f32[1024]{0} parameter(0)
  ROOT %sort = f32[1024]{0} sort(%a), dimensions={0}, to_apply=%less
}
)");
  ASSERT_TRUE(module.ok()) << module.status();
  const absl::Status status = TileGeometry::Create(**module).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("sort"));
}

// A decoder's cache: a position of 16 sequences is written, in bounds over what is written (libtpu
// 0.0.52 for v3 writes [16,1,2,1]).
constexpr char kCacheUpdate[] = R"(HloModule update

%fused (cache: bf16[16,512,16,128], new: bf16[16,1,16,128], at: s32[]) -> bf16[16,512,16,128] {
  %cache = bf16[16,512,16,128]{3,2,1,0:T(8,128)(2,1)} parameter(0)
  %new = bf16[16,1,16,128]{3,2,1,0:T(8,128)(2,1)} parameter(1)
  %at = s32[]{:T(256)} parameter(2)
  %zero = s32[]{:T(256)} constant(0)
  %negated = bf16[16,1,16,128]{3,2,1,0:T(8,128)(2,1)} negate(%new)
  ROOT %update = bf16[16,512,16,128]{3,2,1,0:T(8,128)(2,1)} dynamic-update-slice(%cache, %negated, %zero, %at, %zero, %zero)
}

ENTRY %e {
  %cache = bf16[16,512,16,128]{3,2,1,0:T(8,128)(2,1)} parameter(0)
  %new = bf16[16,1,16,128]{3,2,1,0:T(8,128)(2,1)} parameter(1)
  %at = s32[]{:T(256)} parameter(2)
  ROOT %f = bf16[16,512,16,128]{3,2,1,0:T(8,128)(2,1)} fusion(%cache, %new, %at), kind=kLoop, calls=%fused
}
)";

TEST(TileGeometryTest, AnUpdateInPlaceMovesOnlyWhatItWrites) {
  const TileGeometry geometry = Geometry(kCacheUpdate);
  ASSERT_EQ(geometry.output_dims().size(), 4u);
  EXPECT_EQ(geometry.output_dims()[1].elements, 1);
  const TileEvaluation tile = geometry.Evaluate(Bounds({}, {8, 1, 2, 1}));
  EXPECT_EQ(tile.iterations, 2);
  constexpr double kUpdateBytes = 16.0 * 16 * 128 * 2;
  EXPECT_DOUBLE_EQ(tile.bytes_written, kUpdateBytes);
  // Negating it, and writing it.
  EXPECT_EQ(geometry.ops().size(), 2u);
  // The position lies in HBM too, in a tile of its own.
  EXPECT_DOUBLE_EQ(tile.bytes_read, kUpdateBytes + 256 * 4);
}

TEST(TileGeometryTest, AnArrayThatIsReadBesidesItsUpdateIsAnOperand) {
  std::string text = kCacheUpdate;
  const std::string negate = "negate(%new)";
  text.replace(text.find(negate), negate.size(),
               "dynamic-slice(%cache, %zero, %at, %zero, %zero), "
               "dynamic_slice_sizes={16,1,16,128}");
  const TileGeometry geometry = Geometry(text);
  ASSERT_GE(geometry.operands().size(), 2u);
  EXPECT_EQ(geometry.operands()[0].index, 0);
  EXPECT_FALSE(geometry.operands()[0].is_output);
  EXPECT_DOUBLE_EQ(geometry.Evaluate(Bounds({}, {8, 1, 2, 1})).bytes_written, 16.0 * 16 * 128 * 2);
}

TEST(TileGeometryTest, AnUpdateOfWhatTheKernelComputedWritesTheWholeArray) {
  std::string text = kCacheUpdate;
  const std::string cache = "dynamic-update-slice(%cache,";
  text.replace(text.find(cache), cache.size(), "dynamic-update-slice(%filled,");
  const std::string zero = "  %negated";
  text.insert(text.find(zero),
              "  %nought = bf16[]{:T(512)} constant(0)\n"
              "  %filled = bf16[16,512,16,128]{3,2,1,0:T(8,128)(2,1)} broadcast(%nought), "
              "dimensions={}\n");
  const TileGeometry geometry = Geometry(text);
  EXPECT_EQ(geometry.output_dims()[1].elements, 512);
  EXPECT_DOUBLE_EQ(geometry.Evaluate(Bounds({}, {8, 512, 2, 1})).bytes_written,
                   16.0 * 512 * 16 * 128 * 2);
}

TEST(TileGeometryTest, AProductThatIsWrittenIntoAnArrayMovesOnlyTheProduct) {
  const TileGeometry geometry = Geometry(R"(HloModule product

%fused (array: f32[8192,6,256], a: bf16[8192,512], b: bf16[512,256]) -> f32[8192,6,256] {
  %array = f32[8192,6,256]{2,0,1:T(8,128)} parameter(0)
  %a = bf16[8192,512]{1,0:T(8,128)(2,1)} parameter(1)
  %b = bf16[512,256]{1,0:T(8,128)(2,1)} parameter(2)
  %dot = f32[8192,256]{1,0:T(8,128)} convolution(%a, %b), dim_labels=bf_io->bf
  %view = f32[8192,1,256]{2,0,1:T(8,128)} bitcast(%dot)
  %zero = s32[]{:T(256)} constant(0)
  %two = s32[]{:T(256)} constant(2)
  ROOT %update = f32[8192,6,256]{2,0,1:T(8,128)} dynamic-update-slice(%array, %view, %zero, %two, %zero)
}

ENTRY %e {
  %array = f32[8192,6,256]{2,0,1:T(8,128)} parameter(0)
  %a = bf16[8192,512]{1,0:T(8,128)(2,1)} parameter(1)
  %b = bf16[512,256]{1,0:T(8,128)(2,1)} parameter(2)
  ROOT %f = f32[8192,6,256]{2,0,1:T(8,128)} fusion(%array, %a, %b), kind=kOutput, calls=%fused
}
)");
  const TileEvaluation tile = geometry.Evaluate(Bounds({64, 2}, {128, 2}));
  EXPECT_DOUBLE_EQ(tile.bytes_written, 8192.0 * 256 * 4);
  EXPECT_DOUBLE_EQ(tile.bytes_read, 8192.0 * 512 * 2 + 512.0 * 256 * 2);  // weights stay
}

// As a loop over layers leaves it: the update within a fusion of its own, behind views.
TEST(TileGeometryTest, AnUpdateInPlaceIsFoundBehindViewsAndFusions) {
  const TileGeometry geometry = Geometry(R"(HloModule nested

%inner (array: f32[64,32,256], new: f32[1,32,256]) -> f32[64,32,256] {
  %array = f32[64,32,256]{2,1,0:T(8,128)} parameter(0)
  %new = f32[1,32,256]{2,1,0:T(8,128)} parameter(1)
  %zero = s32[]{:T(256)} constant(0)
  ROOT %update = f32[64,32,256]{2,1,0:T(8,128)} dynamic-update-slice(%array, %new, %zero, %zero, %zero)
}

%fused (row: f32[32,256], array: f32[64,1,32,256]) -> (f32[64,32,256], f32[32,256]) {
  %row = f32[32,256]{1,0:T(8,128)} parameter(0)
  %array = f32[64,1,32,256]{3,2,1,0:T(8,128)} parameter(1)
  %view = f32[64,32,256]{2,1,0:T(8,128)} bitcast(%array)
  %tanh = f32[32,256]{1,0:T(8,128)} tanh(%row)
  %new = f32[1,32,256]{2,1,0:T(8,128)} bitcast(%tanh)
  %updated = f32[64,32,256]{2,1,0:T(8,128)} fusion(%view, %new), kind=kLoop, calls=%inner
  ROOT %both = (f32[64,32,256]{2,1,0:T(8,128)}, f32[32,256]{1,0:T(8,128)}) tuple(%updated, %tanh)
}

ENTRY %e {
  %row = f32[32,256]{1,0:T(8,128)} parameter(0)
  %array = f32[64,1,32,256]{3,2,1,0:T(8,128)} parameter(1)
  ROOT %f = (f32[64,32,256]{2,1,0:T(8,128)}, f32[32,256]{1,0:T(8,128)}) fusion(%row, %array), kind=kLoop, calls=%fused
}
)");
  ASSERT_EQ(geometry.operands().size(), 3u);  // the row, what is written of the array, and tanh
  EXPECT_EQ(geometry.operands()[0].index, 0);
  const TileEvaluation tile = geometry.Evaluate(Bounds({}, {1, 2, 2}));
  constexpr double kRowBytes = 32.0 * 256 * 4;
  EXPECT_DOUBLE_EQ(tile.bytes_read, kRowBytes);
  EXPECT_DOUBLE_EQ(tile.bytes_written, 2 * kRowBytes);
}

// The array is also what is written: it is read.
TEST(TileGeometryTest, AnArrayThatIsWrittenIntoItselfIsRead) {
  const TileGeometry geometry = Geometry(R"(HloModule self
ENTRY %e {
  %p = f32[32,256]{1,0:T(8,128)} parameter(0)
  %i = s32[]{:T(256)} parameter(1)
  ROOT %u = f32[32,256]{1,0:T(8,128)} dynamic-update-slice(%p, %p, %i, %i)
}
)");
  ASSERT_GE(geometry.operands().size(), 2u);
  EXPECT_FALSE(geometry.operands()[0].is_output);
  EXPECT_EQ(geometry.operands()[0].index, 0);
}

}  // namespace
}  // namespace autotune
