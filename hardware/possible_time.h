#ifndef AUTOTUNE_HARDWARE_POSSIBLE_TIME_H_
#define AUTOTUNE_HARDWARE_POSSIBLE_TIME_H_

namespace autotune {

// Seconds outside of these limits are no time of an execution, a compilation or an estimate on any
// machine: files that hold one are damaged or made up. Within them sums and ratios of many stay
// finite.
inline constexpr double kShortestSeconds = 1e-15;
inline constexpr double kLongestSeconds = 1e9;

// Whether a kernel can have run for so long. False for NaN.
inline constexpr bool IsPossibleTime(double seconds) {
  return seconds >= kShortestSeconds && seconds <= kLongestSeconds;
}

// Whether something beside it, a compilation for instance, can have taken so long. False for NaN.
inline constexpr bool IsPossibleCost(double seconds) {
  return seconds >= 0 && seconds <= kLongestSeconds;
}

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_POSSIBLE_TIME_H_
