#include "hlo/cholesky.h"

#include <cmath>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autotune {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(CholeskyTest, SolvesASmallSystemExactly) {
  std::vector<double> a = {4, -1, 2, 5};  // the upper triangle is not read
  std::vector<double> b = {10, 21};
  ASSERT_TRUE(SolveCholesky(absl::MakeSpan(a), absl::MakeSpan(b)));
  EXPECT_THAT(a, ElementsAre(2, -1, 1, 2));
  EXPECT_THAT(b, ElementsAre(0.5, 4));
}

TEST(CholeskyTest, SolvesRandomSystems) {
  std::mt19937 rng(1);
  std::normal_distribution<double> normal;
  for (size_t n = 1; n <= 24; ++n) {
    std::vector<double> root(n * n), a(n * n), x(n), b(n);
    for (double& value : root) value = normal(rng);
    for (double& value : x) value = normal(rng);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        a[i * n + j] = i == j ? 1 : 0;
        for (size_t k = 0; k < n; ++k) a[i * n + j] += root[i * n + k] * root[j * n + k];
        b[i] += a[i * n + j] * x[j];
      }
    }
    ASSERT_TRUE(SolveCholesky(absl::MakeSpan(a), absl::MakeSpan(b)));
    for (size_t i = 0; i < n; ++i) EXPECT_THAT(b[i], DoubleNear(x[i], 1e-9)) << n;
  }
}

TEST(CholeskyTest, WhatIsNotPositiveDefiniteIsRefused) {
  for (const double last : {1.0, 0.5, std::nan("")}) {
    std::vector<double> a = {1, 1, 1, last};
    std::vector<double> b = {1, 2};
    EXPECT_FALSE(SolveCholesky(absl::MakeSpan(a), absl::MakeSpan(b))) << last;
    EXPECT_THAT(b, ElementsAre(1, 2));
  }
}

TEST(CholeskyTest, ALeastPivotTakesWhatIsSemidefinite) {
  std::vector<double> a = {1, 1, 1, 1};
  std::vector<double> b = {1, 1};
  ASSERT_TRUE(SolveCholesky(absl::MakeSpan(a), absl::MakeSpan(b), 0.25));
  EXPECT_THAT(b, ElementsAre(1, 0));
}

}  // namespace
}  // namespace autotune
