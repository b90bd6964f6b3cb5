#include "hlo/kernel_choice.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "nlohmann/json.hpp"

namespace autotune {
namespace {

using nlohmann::json;

// An integer that is written as a number or, as protobuf's JSON form has it, as a string.
std::optional<int64_t> IntegerFrom(const json& value) {
  if (value.is_number_integer()) return value.get<int64_t>();
  int64_t number = 0;
  if (value.is_string() && absl::SimpleAtoi(value.get_ref<const std::string&>(), &number)) {
    return number;
  }
  return std::nullopt;
}

// False if the member is there and is no list of integers.
bool ReadBounds(const json& window, const char* name, WindowBounds* bounds) {
  const auto member = window.find(name);
  if (member == window.end()) return true;
  if (!member->is_array()) return false;
  for (const json& element : *member) {
    const std::optional<int64_t> bound = IntegerFrom(element);
    if (!bound.has_value()) return false;
    bounds->push_back(*bound);
  }
  return true;
}

// The member `name` of the JSON object in `text`; null if there is none or it is no object. Parsing
// a configuration takes some microseconds, so it is left out where the name does not occur.
json ObjectMember(absl::string_view text, const char* name) {
  if (!absl::StrContains(text, name)) return nullptr;
  json config = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) return nullptr;
  const auto member = config.find(name);
  if (member == config.end() || !member->is_object()) return nullptr;
  return std::move(*member);
}

}  // namespace

std::optional<CompilerChoice> ParseCompilerChoice(absl::string_view backend_config) {
  const json window = ObjectMember(backend_config, "window_config");
  if (window.is_null()) return std::nullopt;
  CompilerChoice choice;
  TileBounds& bounds = choice.bounds;
  if (!ReadBounds(window, "kernel_window_bounds", &bounds.kernel) ||
      !ReadBounds(window, "output_window_bounds", &bounds.output) ||
      !ReadBounds(window, "input_window_bounds", &bounds.input) ||
      !ReadBounds(window, "iteration_bounds", &bounds.iteration)) {
    return std::nullopt;
  }
  if (const auto cycles = window.find("estimated_cycles"); cycles != window.end()) {
    choice.estimated_cycles = IntegerFrom(*cycles);
    if (choice.estimated_cycles == 0) choice.estimated_cycles = std::nullopt;
  }
  return choice;
}

std::optional<int64_t> ParseKnownTripCount(absl::string_view backend_config) {
  const json count = ObjectMember(backend_config, "known_trip_count");
  if (count.is_null()) return std::nullopt;
  const auto n = count.find("n");
  return n == count.end() ? std::nullopt : IntegerFrom(*n);
}

}  // namespace autotune
