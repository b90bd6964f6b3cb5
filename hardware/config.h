#ifndef AUTOTUNE_HARDWARE_CONFIG_H_
#define AUTOTUNE_HARDWARE_CONFIG_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlo/fusion_decision.h"
#include "hlo/tile_bounds.h"
#include "nlohmann/json_fwd.hpp"

namespace autotune {

// The layouts of the configurable nodes of a whole module, as TpuGraphs records them: for each
// node, for each of its tensors (output first), minor-to-major dimensions. An empty tensor is "the
// compiler's choice".
struct LayoutConfig {
  std::vector<std::vector<std::vector<int32_t>>> nodes;
  friend bool operator==(const LayoutConfig&, const LayoutConfig&) = default;
};

// A recorded configuration whose content was not recorded: only its position in the recording tells
// it from others. Usable by RecordedSpace alone, outside model metrics and `apply`.
struct OpaqueConfig {
  int64_t index = 0;
  friend bool operator==(const OpaqueConfig&, const OpaqueConfig&) = default;
};

// One configuration of a kernel or of a program, as data. Immutable and thread-safe. Equality is
// equality of keys.
class Config {
 public:
  explicit Config(TileBounds bounds);
  explicit Config(FusionDecision decision);
  explicit Config(LayoutConfig layout);
  explicit Config(OpaqueConfig opaque);

  // The canonical key: equal configurations, and only these, have equal keys. Never empty.
  const std::string& Key() const { return key_; }

  // The alternative held, or null.
  const TileBounds* tile() const { return std::get_if<TileBounds>(&value_); }
  const FusionDecision* fusion() const { return std::get_if<FusionDecision>(&value_); }
  const LayoutConfig* layout() const { return std::get_if<LayoutConfig>(&value_); }
  const OpaqueConfig* opaque() const { return std::get_if<OpaqueConfig>(&value_); }

  // {"tile": {"kernel": [...], "output": [...]}}, with "input" and "iteration" where they are
  // given;
  // {"fusion": {"cuts": [...]}}; {"layout": [[[1, 0], []], ...]}; {"opaque": 3}.
  nlohmann::json ToJson() const;
  // The inverse of ToJson. InvalidArgument, naming the member, for anything else.
  static absl::StatusOr<Config> FromJson(const nlohmann::json& json);

  // The configuration with this canonical key: FromKey(c.Key()) equals c. InvalidArgument for a
  // text that is no canonical key. A tile's input and iteration bounds are not in its key.
  static absl::StatusOr<Config> FromKey(absl::string_view key);

  friend bool operator==(const Config& a, const Config& b) { return a.key_ == b.key_; }
  friend bool operator<(const Config& a, const Config& b) { return a.key_ < b.key_; }

 private:
  using Value = std::variant<TileBounds, FusionDecision, LayoutConfig, OpaqueConfig>;

  // REQUIRES: `key` is the canonical key of `value`.
  Config(Value value, absl::string_view key) : value_(std::move(value)), key_(key) {}

  Value value_;
  std::string key_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_CONFIG_H_
