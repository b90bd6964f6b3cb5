#include "tuner/select_best.h"

#include "gtest/gtest.h"

namespace autotune {
namespace {

Measurement Time(double seconds) {
  return Measurement::FromSamples({seconds}, TimeSource::kHardware);
}

Measurement Failed() { return Measurement::FromFailure(FailureKind::kCompileError, "no"); }

TEST(SelectBestTest, FastestValidResultWins) {
  EXPECT_EQ(SelectBest({Time(3), Failed(), Time(2), Time(2.5)}), 2u);
}

TEST(SelectBestTest, FirstOfEqualsWins) { EXPECT_EQ(SelectBest({Time(2), Time(2)}), 0u); }

TEST(SelectBestTest, MedianNotMinimumCounts) {
  const Measurement noisy = Measurement::FromSamples({1, 5, 6}, TimeSource::kHardware);
  EXPECT_EQ(SelectBest({noisy, Time(3)}), 1u);
}

TEST(SelectBestTest, NothingValid) {
  EXPECT_EQ(SelectBest({}), std::nullopt);
  EXPECT_EQ(SelectBest({Failed(), Failed()}, 0), std::nullopt);
}

TEST(SelectBestTest, PreferredWinsInsideTheTieWindowOnly) {
  EXPECT_EQ(SelectBest({Time(1.005), Time(1.0)}, 0), 0u);
  EXPECT_EQ(SelectBest({Time(1.02), Time(1.0)}, 0), 1u);
  EXPECT_EQ(SelectBest({Time(1.02), Time(1.0)}, 0, 0.05), 0u);
  EXPECT_EQ(SelectBest({Time(1.005), Time(1.0)}, 0, 0.0), 1u);
}

TEST(SelectBestTest, FailedPreferredLoses) { EXPECT_EQ(SelectBest({Failed(), Time(1)}, 0), 1u); }

}  // namespace
}  // namespace autotune
