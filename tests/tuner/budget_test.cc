#include "tuner/budget.h"

#include <algorithm>
#include <cmath>

#include "gtest/gtest.h"

namespace autotune {
namespace {

TEST(BudgetTest, GrantsNoMoreThanThereIs) {
  Budget budget = *Budget::Create(10, std::nullopt);
  EXPECT_EQ(budget.Take(6), 6);
  EXPECT_EQ(budget.Take(6), 4);
  EXPECT_EQ(budget.Take(1), 0);
  EXPECT_EQ(budget.spent(), 10);
  EXPECT_EQ(budget.Available(), 0);
}

TEST(BudgetTest, ReserveIsKeptUntilReleased) {
  Budget budget = *Budget::Create(10, std::nullopt);
  EXPECT_EQ(budget.Reserve(4), 4);
  EXPECT_EQ(budget.Take(100), 6);
  EXPECT_EQ(budget.Reserve(9), 0);
  budget.ReleaseReserve();
  EXPECT_EQ(budget.Take(100), 4);
}

TEST(BudgetTest, SecondsStopIt) {
  Budget budget = *Budget::Create(std::nullopt, 2.0);
  EXPECT_EQ(budget.Take(1000), 1000);
  budget.ChargeSeconds(1.5);
  EXPECT_GT(budget.Available(), 0);
  budget.ChargeSeconds(0.5);
  EXPECT_EQ(budget.Available(), 0);
  EXPECT_EQ(budget.Take(1), 0);
}

TEST(BudgetTest, ZeroIsALegalBudget) { EXPECT_EQ(Budget::Create(0, 0.0)->Take(1), 0); }

TEST(BudgetTest, NegativeIsRefusedByName) {
  EXPECT_EQ(Budget::Create(-5, std::nullopt).status().message(),
            "the budget must not be negative, but is -5");
  EXPECT_FALSE(Budget::Create(1, -1.0).ok());
  EXPECT_FALSE(Budget::Create(1, std::nan("")).ok());
}

TEST(PlanBudgetTest, DefaultsTakeAQuarterAtMost) {
  const BudgetPlan plan = PlanBudget(7, 10, 10, false);
  EXPECT_EQ(plan.defaults, 2);
  EXPECT_EQ(plan.confirmation, 0);
  EXPECT_EQ(PlanBudget(1, 10, 10, false).defaults, 1);
  EXPECT_EQ(PlanBudget(0, 10, 10, false).defaults, 0);
  EXPECT_EQ(PlanBudget(40, 10, 10, false).defaults, 10);
}

TEST(BudgetTest, WhatWasSpentBeforeComesBeforeTheReserve) {
  Budget budget = *Budget::Create(10, std::nullopt);
  budget.Reserve(4);
  budget.CountSpent(8);
  EXPECT_EQ(budget.spent(), 8);
  EXPECT_EQ(budget.Available(), 0);
  EXPECT_EQ(budget.Take(5), 0);
  budget.ReleaseReserve();
  EXPECT_EQ(budget.Take(5), 2);
  budget.CountSpent(3);
  EXPECT_EQ(budget.spent(), 10);
  EXPECT_EQ(budget.Available(), 0);
}

// A finalist that is measured again without its default, or the other way round, is a unit wasted.
TEST(PlanBudgetTest, ConfirmationNeverSplitsAPair) {
  for (int64_t units = 0; units < 120; ++units) {
    for (int64_t kernels : {1, 3, 10}) {
      const BudgetPlan plan = PlanBudget(units, kernels, kernels, true);
      EXPECT_EQ(plan.confirmation % 2, 0) << units;
      EXPECT_LE(plan.confirmation, std::min(2 * kernels, units / 4)) << units;
      EXPECT_LE(plan.defaults + plan.confirmation, units);
    }
  }
}

TEST(PlanBudgetTest, RecordedDefaultsCostNothing) {
  EXPECT_EQ(PlanBudget(40, 10, 3, false).defaults, 3);
  EXPECT_EQ(PlanBudget(40, 10, 0, false).defaults, 0);
}

TEST(PlanBudgetTest, ConfirmationIsTwoAKernelAndAtMostAQuarter) {
  EXPECT_EQ(PlanBudget(100, 5, 5, true).confirmation, 10);
  EXPECT_EQ(PlanBudget(40, 10, 10, true).confirmation, 10);
  EXPECT_EQ(PlanBudget(12, 10, 10, true).confirmation, 2);
}

}  // namespace
}  // namespace autotune
