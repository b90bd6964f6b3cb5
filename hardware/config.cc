#include "hardware/config.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"

namespace autotune {
namespace {

using nlohmann::json;

// "l=" and, for each node, "|" and, for each of its tensors, "/" and its dimensions.
std::string LayoutKey(const LayoutConfig& layout) {
  std::string key = "l=";
  for (const auto& node : layout.nodes) {
    key += '|';
    for (const auto& tensor : node) absl::StrAppend(&key, "/", absl::StrJoin(tensor, ","));
  }
  return key;
}

std::string KeyOf(const OpaqueConfig& opaque) { return absl::StrCat("#", opaque.index); }

absl::Status Wrong(absl::string_view where, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("configuration: ", where, " is not ", expected));
}

// Whether `cuts` is what FusionDecision promises: sorted, without duplicates, not negative.
bool AreCuts(const std::vector<int64_t>& cuts) {
  return (cuts.empty() || cuts.front() >= 0) &&
         std::adjacent_find(cuts.begin(), cuts.end(), std::greater_equal<>()) == cuts.end();
}

// A JSON array of integers from 0 to the largest Int, into any container of them.
template <typename Container>
absl::Status ReadIntegers(const json& array, const std::string& where, Container* out) {
  using Int = typename Container::value_type;
  if (!array.is_array()) return Wrong(where, "an array of integers");
  for (const json& element : array) {
    if (!element.is_number_integer() ||
        (element.is_number_unsigned() &&
         element.get<uint64_t>() > uint64_t{std::numeric_limits<Int>::max()}) ||
        (!element.is_number_unsigned() && element.get<int64_t>() < 0)) {
      return Wrong(where, "an array of integers that are not negative");
    }
    out->push_back(element.get<Int>());
  }
  return absl::OkStatus();
}

absl::StatusOr<Config> TileFromJson(const json& tile) {
  if (!tile.is_object()) return Wrong("\"tile\"", "an object");
  TileBounds bounds;
  for (const auto& [name, value] : tile.items()) {
    WindowBounds* target = name == "kernel"      ? &bounds.kernel
                           : name == "output"    ? &bounds.output
                           : name == "input"     ? &bounds.input
                           : name == "iteration" ? &bounds.iteration
                                                 : nullptr;
    const std::string where = absl::StrCat("\"tile\".\"", name, "\"");
    if (target == nullptr) return Wrong(where, "one of kernel, output, input, iteration");
    if (absl::Status status = ReadIntegers(value, where, target); !status.ok()) return status;
  }
  return Config(std::move(bounds));
}

absl::StatusOr<Config> FusionFromJson(const json& fusion) {
  if (!fusion.is_object() || fusion.size() != 1 || !fusion.contains("cuts")) {
    return Wrong("\"fusion\"", "an object with the one member \"cuts\"");
  }
  FusionDecision decision;
  const std::string where = "\"fusion\".\"cuts\"";
  if (absl::Status status = ReadIntegers(fusion.at("cuts"), where, &decision.cuts); !status.ok()) {
    return status;
  }
  if (!AreCuts(decision.cuts)) return Wrong(where, "sorted and without duplicates");
  return Config(std::move(decision));
}

absl::StatusOr<Config> LayoutFromJson(const json& nodes) {
  if (!nodes.is_array()) return Wrong("\"layout\"", "an array of nodes");
  LayoutConfig layout;
  for (const json& node : nodes) {
    const std::string where = absl::StrCat("\"layout\"[", layout.nodes.size(), "]");
    if (!node.is_array()) return Wrong(where, "an array of tensors");
    auto& tensors = layout.nodes.emplace_back();
    for (const json& tensor : node) {
      if (absl::Status s = ReadIntegers(tensor, where, &tensors.emplace_back()); !s.ok()) return s;
    }
  }
  return Config(std::move(layout));
}

// Decimal digits between commas, without signs, spaces or leading zeros: what a key may hold.
template <typename Container>
bool ParseList(absl::string_view text, Container* out) {
  if (text.empty()) return true;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    // from_chars takes a minus sign, which no key has.
    if (at == end || *at < '0' || *at > '9' || (*at == '0' && at + 1 < end && at[1] != ',')) {
      return false;
    }
    typename Container::value_type value = 0;
    const auto [stop, error] = std::from_chars(at, end, value);
    if (error != std::errc()) return false;
    out->push_back(value);
    if (stop == end) return true;
    if (*stop != ',') return false;
    at = stop + 1;
  }
}

bool ParseTileKey(absl::string_view key, TileBounds* bounds) {
  if (absl::ConsumePrefix(&key, "k=")) {
    const size_t semicolon = key.find(';');
    if (semicolon == 0 || semicolon == absl::string_view::npos) return false;
    if (!ParseList(key.substr(0, semicolon), &bounds->kernel)) return false;
    key.remove_prefix(semicolon + 1);
  }
  return absl::ConsumePrefix(&key, "o=") && ParseList(key, &bounds->output);
}

// `text` is what follows "l=".
bool ParseLayoutKey(absl::string_view text, LayoutConfig* layout) {
  if (text.empty()) return true;
  if (!absl::ConsumePrefix(&text, "|")) return false;
  for (absl::string_view node : absl::StrSplit(text, '|')) {
    auto& tensors = layout->nodes.emplace_back();
    if (node.empty()) continue;
    if (!absl::ConsumePrefix(&node, "/")) return false;
    for (absl::string_view tensor : absl::StrSplit(node, '/')) {
      if (!ParseList(tensor, &tensors.emplace_back())) return false;
    }
  }
  return true;
}

json TileToJson(const TileBounds& bounds) {
  json tile = json::object();
  const auto add = [&tile](const char* name, const WindowBounds& window) {
    if (!window.empty()) tile[name] = std::vector<int64_t>(window.begin(), window.end());
  };
  add("kernel", bounds.kernel);
  add("output", bounds.output);
  add("input", bounds.input);
  add("iteration", bounds.iteration);
  return tile;
}

}  // namespace

Config::Config(TileBounds bounds) : key_(bounds.Key()) { value_ = std::move(bounds); }
Config::Config(FusionDecision decision) : key_(decision.Key()) { value_ = std::move(decision); }
Config::Config(LayoutConfig layout) : key_(LayoutKey(layout)) { value_ = std::move(layout); }
Config::Config(OpaqueConfig opaque) : value_(opaque), key_(KeyOf(opaque)) {}

json Config::ToJson() const {
  if (tile() != nullptr) return {{"tile", TileToJson(*tile())}};
  if (fusion() != nullptr) return {{"fusion", {{"cuts", fusion()->cuts}}}};
  if (layout() != nullptr) return {{"layout", layout()->nodes}};
  return {{"opaque", opaque()->index}};
}

absl::StatusOr<Config> Config::FromJson(const json& json_value) {
  if (!json_value.is_object() || json_value.size() != 1) {
    return Wrong("the value", "an object with one member: tile, fusion, layout or opaque");
  }
  const std::string& form = json_value.begin().key();
  const json& content = json_value.begin().value();
  if (form == "tile") return TileFromJson(content);
  if (form == "fusion") return FusionFromJson(content);
  if (form == "layout") return LayoutFromJson(content);
  if (form != "opaque") {
    return Wrong(absl::StrCat("\"", form, "\""), "one of tile, fusion, layout, opaque");
  }
  std::vector<int64_t> index;
  absl::Status status = ReadIntegers(json::array({content}), "\"opaque\"", &index);
  if (!status.ok()) return Wrong("\"opaque\"", "an integer that is not negative");
  return Config(OpaqueConfig{index[0]});
}

absl::StatusOr<Config> Config::FromKey(absl::string_view key) {
  const auto wrong = [key] {
    return Wrong(absl::StrCat("key \"", key.substr(0, 80), "\""), "a canonical key");
  };
  if (absl::StartsWith(key, "#")) {
    std::vector<int64_t> index;
    if (!ParseList(key.substr(1), &index) || index.size() != 1) return wrong();
    return Config(OpaqueConfig{index[0]}, key);
  }
  if (absl::StartsWith(key, "f=")) {
    FusionDecision decision;
    if (!ParseList(key.substr(2), &decision.cuts) || !AreCuts(decision.cuts)) return wrong();
    return Config(std::move(decision), key);
  }
  if (absl::StartsWith(key, "l=")) {
    LayoutConfig layout;
    if (!ParseLayoutKey(key.substr(2), &layout)) return wrong();
    return Config(std::move(layout), key);
  }
  TileBounds bounds;
  if (!ParseTileKey(key, &bounds)) return wrong();
  return Config(std::move(bounds), key);
}

}  // namespace autotune
