#ifndef AUTOTUNE_TUNER_NUMBER_OPTIONS_H_
#define AUTOTUNE_TUNER_NUMBER_OPTIONS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace autotune {

// What a number on the command line may be, both ends included. Data only.
template <typename Number>
struct NumberRange {
  Number min;
  Number max;
};

// The ranges of the numeric options of all commands. The upper ends are far beyond any use; they
// keep sums and products of options away from overflow, and what is allocated by them from the
// memory's end.
inline constexpr NumberRange<int64_t> kBudgetRange = {0, 1'000'000'000};
inline constexpr NumberRange<double> kSecondsRange = {0, 1e9};
inline constexpr NumberRange<double> kTimeoutRange = {0.001, 1e6};
inline constexpr NumberRange<int64_t> kTopKRange = {1, 10'000};
inline constexpr NumberRange<int64_t> kRepeatsRange = {1, 1'000'000};
inline constexpr NumberRange<int64_t> kJobsRange = {0, 1024};  // 0: as many as there are cores
inline constexpr NumberRange<uint64_t> kSeedRange = {0, std::numeric_limits<uint64_t>::max()};
inline constexpr NumberRange<int64_t> kSeedCountRange = {1, 10'000};
inline constexpr NumberRange<int64_t> kEvaluationsRange = {1, 1'000'000'000};
inline constexpr NumberRange<int64_t> kCountRange = {0, 1'000'000'000};  // samples, rows to show
inline constexpr NumberRange<int64_t> kDaysRange = {0, 100'000};
inline constexpr NumberRange<double> kShareRange = {0, 1};

// Adds an option that takes a number. Its text is checked whole before it reaches `value`: "-1" for
// a seed, "nan", "1e999", "12x" and what lies outside of the range end the command with exit code 2
// and a message that names the option, the range and what was typed. Every numeric option of every
// command is added by one of these; a test tries all of them. `value` must outlive `command`.
CLI::Option* AddNumber(CLI::App& command, const std::string& name, int64_t& value,
                       NumberRange<int64_t> range, const std::string& help);
CLI::Option* AddNumber(CLI::App& command, const std::string& name, uint64_t& value,
                       NumberRange<uint64_t> range, const std::string& help);
CLI::Option* AddNumber(CLI::App& command, const std::string& name, double& value,
                       NumberRange<double> range, const std::string& help);
CLI::Option* AddNumber(CLI::App& command, const std::string& name, std::optional<int64_t>& value,
                       NumberRange<int64_t> range, const std::string& help);
CLI::Option* AddNumber(CLI::App& command, const std::string& name, std::optional<double>& value,
                       NumberRange<double> range, const std::string& help);
// The same of a list, separated by commas.
CLI::Option* AddNumbers(CLI::App& command, const std::string& name, std::vector<int64_t>& values,
                        NumberRange<int64_t> range, const std::string& help);

// The same check for a number that comes from elsewhere (a stored run). InvalidArgument names
// `name`, the range and the value.
absl::Status CheckNumber(absl::string_view name, int64_t value, NumberRange<int64_t> range);
absl::Status CheckNumber(absl::string_view name, double value, NumberRange<double> range);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_NUMBER_OPTIONS_H_
