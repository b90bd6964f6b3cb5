#include "tuner/number_options.h"

#include <cmath>
#include <type_traits>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace autotune {
namespace {

bool ParseWhole(const std::string& text, int64_t& value) { return absl::SimpleAtoi(text, &value); }
bool ParseWhole(const std::string& text, uint64_t& value) { return absl::SimpleAtoi(text, &value); }
// Decimal digits only: no "0x10", "nan" or "infinity".
bool ParseWhole(const std::string& text, double& value) {
  return text.find_first_not_of("0123456789+-.eE") == std::string::npos &&
         absl::SimpleAtod(text, &value);
}

template <typename Number>
bool Inside(Number value, NumberRange<Number> range) {
  return value >= range.min && value <= range.max;  // false for NaN
}

// "takes a whole number from 0 to 1024".
template <typename Number>
std::string Wanted(NumberRange<Number> range) {
  const char* kind = std::is_integral_v<Number> ? "a whole number" : "a number";
  return absl::StrCat("takes ", kind, " from ", range.min, " to ", range.max);
}

// CLI11 puts the option's name and a colon before what a validator says.
template <typename Number>
CLI::Validator Within(NumberRange<Number> range) {
  auto check = [range](std::string& text) -> std::string {
    Number value{};
    if (ParseWhole(text, value) && Inside(value, range)) return "";
    return absl::StrCat(Wanted(range), "; got \"", text, "\"");
  };
  return CLI::Validator(check, "");
}

template <typename Member, typename Number>
CLI::Option* Add(CLI::App& command, const std::string& name, Member& value,
                 NumberRange<Number> range, const std::string& help) {
  return command.add_option(name, value, help)->check(Within(range));
}

template <typename Number>
absl::Status Check(absl::string_view name, Number value, NumberRange<Number> range) {
  if (Inside(value, range)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", Wanted(range), "; got ", value));
}

}  // namespace

CLI::Option* AddNumber(CLI::App& command, const std::string& name, int64_t& value,
                       NumberRange<int64_t> range, const std::string& help) {
  return Add(command, name, value, range, help);
}

CLI::Option* AddNumber(CLI::App& command, const std::string& name, uint64_t& value,
                       NumberRange<uint64_t> range, const std::string& help) {
  return Add(command, name, value, range, help);
}

CLI::Option* AddNumber(CLI::App& command, const std::string& name, double& value,
                       NumberRange<double> range, const std::string& help) {
  return Add(command, name, value, range, help);
}

CLI::Option* AddNumber(CLI::App& command, const std::string& name, std::optional<int64_t>& value,
                       NumberRange<int64_t> range, const std::string& help) {
  return Add(command, name, value, range, help);
}

CLI::Option* AddNumber(CLI::App& command, const std::string& name, std::optional<double>& value,
                       NumberRange<double> range, const std::string& help) {
  return Add(command, name, value, range, help);
}

CLI::Option* AddNumbers(CLI::App& command, const std::string& name, std::vector<int64_t>& values,
                        NumberRange<int64_t> range, const std::string& help) {
  return Add(command, name, values, range, help)->delimiter(',');
}

absl::Status CheckNumber(absl::string_view name, int64_t value, NumberRange<int64_t> range) {
  return Check(name, value, range);
}

absl::Status CheckNumber(absl::string_view name, double value, NumberRange<double> range) {
  return Check(name, value, range);
}

}  // namespace autotune
