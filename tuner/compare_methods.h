#ifndef AUTOTUNE_TUNER_COMPARE_METHODS_H_
#define AUTOTUNE_TUNER_COMPARE_METHODS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autotune {

// A way to search that a comparison tries: the compiler's default alone, or a strategy with or
// without a cost model.
struct SearchMethod {
  // "default", or the name of a strategy.
  std::string strategy;
  // The name of a cost model; empty if every proposal is measured.
  std::string model;

  // As it is written on the command line: "default", "random", "genetic+analytical".
  std::string Name() const;
  // Measures the compiler's default and stops.
  bool IsDefault() const { return strategy == "default"; }

  friend bool operator==(const SearchMethod&, const SearchMethod&) = default;
};

// The methods of a comparison if none are named.
inline constexpr char kDefaultMethods[] =
    "default,random,annealing,genetic,annealing+analytical,genetic+analytical,"
    "model-greedy+analytical";

// Reads a list such as kDefaultMethods. InvalidArgument for an empty list, a method named twice, a
// strategy that does not exist, `model-greedy` without a model, or `default` with one.
absl::StatusOr<std::vector<SearchMethod>> ParseSearchMethods(absl::string_view list);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_COMPARE_METHODS_H_
