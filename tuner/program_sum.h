#ifndef AUTOTUNE_TUNER_PROGRAM_SUM_H_
#define AUTOTUNE_TUNER_PROGRAM_SUM_H_

#include <cstdint>
#include <optional>

namespace autotune {

// The time of one run of a program under one set of choices, in seconds: the sum over its kernels
// of count times time. The one formula behind progress and totals. A value.
struct ProgramSum {
  double seconds = 0;
  int64_t kernels = 0;  // those with a time of their own

  // Adds a kernel with the time that the choice gives it; without one the compiler's default stands
  // in, else the best that is known. A kernel without any counts nothing.
  void Add(int64_t count, std::optional<double> own, std::optional<double> compiler_default,
           std::optional<double> best) {
    if (own) ++kernels;
    if (!own) own = compiler_default ? compiler_default : best;
    seconds += static_cast<double>(count) * own.value_or(0);
  }
};

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_PROGRAM_SUM_H_
