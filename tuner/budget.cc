#include "tuner/budget.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace autotune {

absl::StatusOr<Budget> Budget::Create(std::optional<int64_t> units, std::optional<double> seconds) {
  if (units && *units < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the budget must not be negative, but is ", *units));
  }
  if (seconds && !(std::isfinite(*seconds) && *seconds >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the budget in seconds must be a number of at least 0, but is ", *seconds));
  }
  return Budget(units, seconds);
}

int64_t Budget::Left() const {
  if (!units_) return std::numeric_limits<int64_t>::max() - spent_;
  return *units_ - spent_;
}

int64_t Budget::Reserve(int64_t units) {
  const int64_t granted = std::clamp<int64_t>(units, 0, Left() - reserved_);
  reserved_ += granted;
  return granted;
}

int64_t Budget::Available() const {
  if (seconds_ && seconds_spent_ >= *seconds_) return 0;
  return Left() - reserved_;
}

void Budget::CountSpent(int64_t units) {
  spent_ += std::min(units, Left());
  reserved_ = std::min(reserved_, Left());
}

int64_t Budget::Take(int64_t wanted) {
  const int64_t granted = std::clamp<int64_t>(wanted, 0, Available());
  spent_ += granted;
  return granted;
}

BudgetPlan PlanBudget(int64_t units, int64_t kernels, int64_t unrecorded_defaults, bool confirm) {
  BudgetPlan plan;
  plan.defaults = std::min((units + 3) / 4, unrecorded_defaults);
  const int64_t left = units - plan.defaults;
  // A finalist without its default, or the other way round, tells nothing.
  if (confirm) plan.confirmation = 2 * std::min({kernels, units / 8, left / 2});
  return plan;
}

}  // namespace autotune
