#include "hlo/int_math.h"

#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace autotune {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST(IntMathTest, SumsAndProductsSaturateOnTheRightSide) {
  EXPECT_EQ(SaturatingAdd(2, -3), -1);
  EXPECT_EQ(SaturatingAdd(kMax, 1), kMax);
  EXPECT_EQ(SaturatingAdd(kMin, -1), kMin);
  EXPECT_EQ(SaturatingSubtract(2, 3), -1);
  EXPECT_EQ(SaturatingSubtract(0, kMin), kMax);
  EXPECT_EQ(SaturatingSubtract(-2, kMax), kMin);
  EXPECT_EQ(SaturatingMultiply(-4, 5), -20);
  EXPECT_EQ(SaturatingMultiply(kMax, 2), kMax);
  EXPECT_EQ(SaturatingMultiply(kMin, -1), kMax);
  EXPECT_EQ(SaturatingMultiply(kMax, -2), kMin);
}

TEST(IntMathTest, DivisionsRoundTowardsTheirSide) {
  EXPECT_EQ(CeilDiv(0, 8), 0);
  EXPECT_EQ(CeilDiv(1, 8), 1);
  EXPECT_EQ(CeilDiv(16, 8), 2);
  EXPECT_EQ(CeilDiv(-9, 8), -1);
  EXPECT_EQ(CeilDiv(kMax, 2), (int64_t{1} << 62));
  EXPECT_EQ(FloorDiv(15, 8), 1);
  EXPECT_EQ(FloorDiv(-1, 8), -1);
  EXPECT_EQ(FloorDiv(-16, 8), -2);
  EXPECT_EQ(RoundUp(9, 8), 16);
  EXPECT_EQ(RoundUp(kMax, 128), kMax);
}

}  // namespace
}  // namespace autotune
