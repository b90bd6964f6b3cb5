// TileGeometry on extents that no device holds: it refuses them or saturates, and never overflows.
// Under UndefinedBehaviorSanitizer an overflow ends the test.

#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "hlo/module.h"
#include "hlo/parser.h"
#include "hlo/tile_geometry.h"

namespace autotune {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// Everything that can be asked, under the smallest and under the largest bounds.
void Explore(const TileGeometry& geometry) {
  TileBounds smallest;
  TileBounds largest;
  for (size_t i = 0; i < geometry.output_dims().size(); ++i) {
    smallest.output.push_back(1);
    largest.output.push_back(geometry.output_dims()[i].tiles);
    for (const int64_t bound : geometry.CanonicalOutputBounds(static_cast<int>(i))) {
      ASSERT_GE(bound, 1);
      ASSERT_LE(bound, geometry.output_dims()[i].tiles);
    }
  }
  for (size_t i = 0; i < geometry.kernel_dims().size(); ++i) {
    const int position = static_cast<int>(i);
    const int tied = geometry.TiedOutputPosition(position);
    smallest.kernel.push_back(tied < 0 ? 1 : geometry.TiedKernelBound(position, 1));
    largest.kernel.push_back(geometry.kernel_dims()[i].tiles);
    EXPECT_FALSE(geometry.CanonicalKernelBounds(position).empty());
  }
  for (const TileBounds& bounds : {smallest, largest}) {
    if (!geometry.Accepts(bounds)) continue;
    const TileEvaluation tile = geometry.Evaluate(bounds);
    EXPECT_GE(tile.iterations, 1);
    EXPECT_GE(tile.vmem_bytes, 0);
    EXPECT_GE(tile.input_copy_bytes, 0);
    EXPECT_GE(tile.bytes_read, 0);
    for (const int64_t bytes : tile.window_bytes) EXPECT_GE(bytes, 1);
    for (const int64_t transfers : tile.transfers) EXPECT_GE(transfers, 1);
    geometry.Complete(bounds);
  }
}

// True if the text is a program and its kernel has a geometry.
bool ExploreText(const std::string& text) {
  const auto module = ParseHloText(text);
  if (!module.ok()) return false;
  const auto geometry = TileGeometry::Create(**module);
  if (geometry.ok()) Explore(*geometry);
  return geometry.ok();
}

// Random numbers near the powers of two, up to the largest; negative ones where that is asked.
class Extremes {
 public:
  explicit Extremes(uint64_t seed) : random_(seed) {}
  int64_t Extent() {
    const int64_t power = int64_t{1} << (random_() % 63);
    const int64_t offset = static_cast<int64_t>(random_() % 3) - 1;
    return power + (power == 1 ? 0 : offset);
  }
  int64_t Signed() { return random_() % 2 == 0 ? Extent() : -Extent(); }

 private:
  std::mt19937_64 random_;
};

std::string Convolution(Extremes& n) {
  const int64_t batch = n.Extent(), in = n.Extent(), features = n.Extent(), window = n.Extent();
  const int64_t out_features = n.Extent(), out = n.Extent();
  return absl::StrCat("ENTRY e {\n a = f32[", batch, ",", in, ",", features,
                      "] parameter(0)\n b = f32[", window, ",", features, ",", out_features,
                      "] parameter(1)\n ROOT c = f32[", batch, ",", out, ",", out_features,
                      "] convolution(a, b), window={size=", window, " stride=", n.Extent(),
                      " pad=", n.Signed(), "_", n.Signed(), " lhs_dilate=", n.Extent(),
                      " rhs_dilate=", n.Extent(), "}, dim_labels=b0f_0io->b0f\n}\n");
}

std::string ReduceWindow(Extremes& n) {
  return absl::StrCat(
      "add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }\n",
      "ENTRY e {\n a = f32[", n.Extent(), ",", n.Extent(),
      "] parameter(0)\n z = f32[] constant(0)\n ROOT r = f32[", n.Extent(), ",", n.Extent(),
      "] reduce-window(a, z), window={size=", n.Extent(), "x", n.Extent(), " stride=", n.Extent(),
      "x", n.Extent(), " pad=", n.Signed(), "_", n.Signed(), "x", n.Signed(), "_", n.Signed(),
      " rhs_dilate=", n.Extent(), "x1}, to_apply=add\n}\n");
}

// A loop fusion over reshapes and slices with strides, whose windows multiply.
std::string Movement(Extremes& n) {
  const int64_t a = n.Extent(), b = n.Extent();
  return absl::StrCat("f {\n p = f32[", a, ",", b, "] parameter(0)\n s = f32[1,", b,
                      "] slice(p), slice={[0:1:", n.Extent(), "], [0:", b, ":1]}\n t = f32[1,1] ",
                      "slice(s), slice={[0:1:", n.Extent(), "], [0:1:", n.Extent(), "]}\n",
                      " ROOT r = f32[1] reshape(t)\n}\nENTRY e {\n a = f32[", a, ",", b,
                      "] parameter(0)\n ROOT k = f32[1] fusion(a), kind=kLoop, calls=f\n}\n");
}

std::string Elementwise(Extremes& n) {
  const std::string shape = absl::StrCat("f32[", n.Extent(), ",", n.Extent(), "]");
  return absl::StrCat("ENTRY e {\n a = ", shape, " parameter(0)\n ROOT c = ", shape,
                      " copy(a)\n}\n");
}

TEST(TileGeometryExtremesTest, RandomExtremesNeverOverflow) {
  int64_t tiled = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    Extremes n(seed);
    for (const auto& text : {Convolution(n), ReduceWindow(n), Movement(n), Elementwise(n)}) {
      SCOPED_TRACE(text);
      tiled += ExploreText(text);
    }
  }
  // Not only refusals: many of them are programs that have a geometry.
  EXPECT_GT(tiled, 1000);
}

TEST(TileGeometryExtremesTest, TooManyTilesAreRefused) {
  const auto module = ParseHloText(
      "ENTRY e {\n a = f32[4294967296,1,1] parameter(0)\n"
      " ROOT c = f32[4294967296,1,1] negate(a)\n}\n");
  ASSERT_TRUE(module.ok()) << module.status();
  const auto geometry = TileGeometry::Create(**module);
  EXPECT_EQ(geometry.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(geometry.status().message(),
            "c has a dimension of 4294967296 elements, more than 1073741824 tiles");
}

TEST(TileGeometryExtremesTest, CountsSaturate) {
  // Both operands are small; the product of the loops is 2^90.
  const auto module = ParseHloText(
      "ENTRY e {\n a = f32[1073741824,8] parameter(0)\n b = f32[8,1073741824] parameter(1)\n"
      " ROOT c = f32[1073741824,1073741824] convolution(a, b), dim_labels=bf_io->bf\n}\n");
  ASSERT_TRUE(module.ok()) << module.status();
  const auto geometry = TileGeometry::Create(**module);
  ASSERT_TRUE(geometry.ok()) << geometry.status();
  TileBounds bounds;
  for (const BoundDim& dim : geometry->output_dims()) bounds.output.push_back(dim.tiles);
  for (const BoundDim& dim : geometry->kernel_dims()) bounds.kernel.push_back(dim.tiles);
  ASSERT_TRUE(geometry->Accepts(bounds));
  const TileEvaluation tile = geometry->Evaluate(bounds);
  EXPECT_EQ(tile.window_bytes.back(), int64_t{4} << 60);
  // The accumulator is not cut, the input's copy is small; the output alone has 2^62 bytes and the
  // operands 2^37 and 2^35 more.
  EXPECT_EQ(tile.vmem_bytes, (int64_t{1} << 62) + (int64_t{1} << 39) + (int64_t{1} << 35));
  EXPECT_LT(tile.vmem_bytes, kMax);
}

}  // namespace
}  // namespace autotune
