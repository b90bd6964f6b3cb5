#ifndef AUTOTUNE_TUNER_BUDGET_H_
#define AUTOTUNE_TUNER_BUDGET_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"

namespace autotune {

// What a run may spend. One unit is one candidate sent to a backend: repeats are free, failures
// count, answers from the record store do not. Nothing is measured past it: a caller asks first.
// Seconds are device time (simulated for replay); a batch may overrun them by its own length, since
// its time is known only afterwards. Not thread-safe.
class Budget {
 public:
  // `units` and `seconds` limit what they name; nullopt means no limit. InvalidArgument for a
  // negative limit, or seconds that are not finite.
  static absl::StatusOr<Budget> Create(std::optional<int64_t> units, std::optional<double> seconds);

  // Sets `units` aside, as far as there are that many left: Take does not grant them,
  // ReleaseReserve gives them back. Returns how many were set aside now.
  int64_t Reserve(int64_t units);
  void ReleaseReserve() { reserved_ = 0; }
  // Gives back what is set aside beyond `units`.
  void LimitReserve(int64_t units) { reserved_ = reserved_ < units ? reserved_ : units; }

  // Spends at most `wanted` units and returns how many were granted.
  int64_t Take(int64_t wanted);

  // Takes back units that Take granted and nothing was measured with: the backend broke. REQUIRES:
  // no more than are spent.
  void Return(int64_t units) { spent_ -= units; }

  // Counts `units` that were spent before, in an interrupted run; they come before anything that is
  // set aside. REQUIRES: units >= 0.
  void CountSpent(int64_t units);

  // Adds device time. REQUIRES: seconds >= 0.
  void ChargeSeconds(double seconds) { seconds_spent_ += seconds; }

  // Units that Take would still grant; 0 once the seconds are used up.
  int64_t Available() const;

  int64_t spent() const { return spent_; }
  double seconds_spent() const { return seconds_spent_; }
  std::optional<int64_t> units() const { return units_; }
  std::optional<double> seconds() const { return seconds_; }

 private:
  Budget(std::optional<int64_t> units, std::optional<double> seconds)
      : units_(units), seconds_(seconds) {}

  int64_t Left() const;

  std::optional<int64_t> units_;
  std::optional<double> seconds_;
  int64_t spent_ = 0;
  int64_t reserved_ = 0;
  double seconds_spent_ = 0;
};

// How a budget is laid out before anything is measured; what is left is for the strategies. Data
// only.
struct BudgetPlan {
  int64_t defaults = 0;      // for the compiler's choice of kernels that have no record
  int64_t confirmation = 0;  // for measuring finalists and defaults again
};

// Defaults come first, those of the kernels that take most; of kernels beyond a quarter of the
// budget they wait until the search turns to them. Then comes the confirmation of the finalists
// (pairs of units: the finalist and, interleaved, the default; at most a quarter of the budget, so
// that the search keeps most), then the search. `confirm` is false where measuring again gives the
// same answer: recordings and estimates. Pure. REQUIRES: nothing negative.
BudgetPlan PlanBudget(int64_t units, int64_t kernels, int64_t unrecorded_defaults, bool confirm);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_BUDGET_H_
