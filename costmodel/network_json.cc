#include "costmodel/network_json.h"

#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"

namespace autotune {
namespace {

using nlohmann::json;

// The names of an enumeration's values, in order.
template <typename Enum>
struct Names;
template <>
struct Names<GraphLayer> {
  static constexpr const char* kAll[] = {"sage", "gat", "none"};
};
template <>
struct Names<EdgeDirection> {
  static constexpr const char* kAll[] = {"directed", "bidirectional", "undirected"};
};
template <>
struct Names<Reduction> {
  static constexpr const char* kAll[] = {"per-node", "column-wise", "lstm", "transformer"};
};
template <>
struct Names<Join> {
  static constexpr const char* kAll[] = {"late", "early"};
};
template <>
struct Names<Loss> {
  static constexpr const char* kAll[] = {"hinge", "logistic", "listmle", "squared-error"};
};
template <>
struct Names<NetworkOptions::StaticFeatures> {
  static constexpr const char* kAll[] = {"kernel", "node", "off"};
};

// The numbers that an option takes, both ends included. The upper ends are far beyond what is of
// use: they keep a damaged file from asking for all memory.
struct Range {
  double low = std::numeric_limits<double>::lowest();
  double high = std::numeric_limits<double>::max();
};
constexpr Range kCount = {0, 1 << 30};
// Of what must not be zero.
constexpr double kTiny = 1e-9;

// The fields by name; both directions visit them here.
template <typename Options, typename Visitor>
void VisitNetwork(Options& options, Visitor&& visit) {
  visit("opcodes", options.opcodes, Range{0, 1e6});
  visit("node_features", options.node_features, Range{0, 1e5});
  visit("kernel_features", options.kernel_features, Range{0, 1e5});
  visit("config_features", options.config_features, Range{0, 1e5});
  visit("layer", options.layer);
  visit("direction", options.direction);
  visit("reduction", options.reduction);
  visit("join", options.join);
  visit("config_attention", options.config_attention);
  visit("static_features", options.static_features);
  visit("layers", options.layers, Range{0, 64});
  visit("hidden", options.hidden, Range{4, 4096});
  visit("opcode_embedding", options.opcode_embedding, Range{1, 1024});
  visit("kernel_embedding", options.kernel_embedding, Range{1, 4096});
  visit("config_bins", options.config_bins, Range{0, 1000});
  visit("config_share", options.config_share, Range{kTiny, 1});
  visit("residual_cap", options.residual_cap, Range{kTiny, 100});
  visit("members", options.members, Range{1, 256});
  visit("seed", options.seed);
}

template <typename Options, typename Visitor>
void VisitStep(Options& options, Visitor&& visit) {
  visit("loss", options.loss);
  visit("learning_rate", options.learning_rate, Range{kTiny, 10});
  visit("weight_decay", options.weight_decay, Range{0, 10});
  visit("squared_error_share", options.squared_error_share, Range{0, 1000});
  visit("level_share", options.level_share, Range{0, 1000});
  visit("gap_limit", options.gap_limit, Range{kTiny, 100});
  visit("top_emphasis", options.top_emphasis, Range{0, 1000});
  visit("dropout", options.dropout, Range{0, 0.99});
  visit("feature_noise", options.feature_noise, Range{0, 100});
}

template <typename Options, typename Visitor>
void VisitTrainer(Options& options, Visitor&& visit) {
  visit("epochs", options.epochs, Range{1, 1e6});
  visit("batch_kernels", options.batch_kernels, Range{1, 1e5});
  visit("kernel_configs", options.kernel_configs, Range{1, 1e6});
  visit("patience", options.patience, kCount);
}

template <typename Quality, typename Visitor>
void VisitQuality(Quality& quality, Visitor&& visit) {
  visit("kendall_tau", quality.kendall_tau);
  visit("tile_size_ape_percent", quality.tile_size_ape);
  visit("top1_error", quality.top1_error);
  visit("mape_percent", quality.mape);
  visit("kernels", quality.kernels, kCount);
  visit("configs", quality.configs, kCount);
}

class JsonWriter {
 public:
  template <typename Value>
  void operator()(const char* name, const Value& value, Range = {}) {
    if constexpr (std::is_enum_v<Value>) {
      json_[name] = Names<Value>::kAll[static_cast<size_t>(value)];
    } else {
      json_[name] = value;
    }
  }
  json Take() { return std::move(json_); }

 private:
  json json_ = json::object();
};

// Fills fields from the members of an object and remembers what it could not.
class JsonReader {
 public:
  explicit JsonReader(const json& object) : object_(object), unread_(object) {
    if (!object.is_object()) Fail("the options must be a JSON object");
  }

  template <typename Value>
  void operator()(const char* name, Value& value, Range range = {}) {
    if (!status_.ok() || !object_.contains(name)) return;
    unread_.erase(name);
    const json& member = object_[name];
    if constexpr (std::is_enum_v<Value>) {
      ReadChoice(name, member, value);
    } else if constexpr (std::is_same_v<Value, bool>) {
      member.is_boolean() ? void(value = member.get<bool>()) : Fail(name, "true or false");
    } else if constexpr (std::is_same_v<Value, uint64_t>) {
      member.is_number_unsigned() ? void(value = member.get<Value>())
                                  : Fail(name, "a whole number");
    } else {
      ReadNumber(name, member, range, value);
    }
  }

  void Skip(const char* name) {
    if (status_.ok()) unread_.erase(name);
  }

  absl::Status Finish() const {
    if (!status_.ok() || unread_.empty()) return status_;
    return absl::InvalidArgumentError(
        absl::StrCat("there is no option \"", unread_.begin().key(), "\""));
  }

 private:
  // An int64_t or a double. A NaN is in no range.
  template <typename Value>
  void ReadNumber(const char* name, const json& member, Range range, Value& value) {
    constexpr bool kWhole = std::is_integral_v<Value>;
    const bool is_number = kWhole ? member.is_number_integer() : member.is_number();
    const double number = is_number ? member.get<double>() : std::nan("");
    if (number >= range.low && number <= range.high) {
      value = member.get<Value>();
    } else {
      Fail(name, Describe(range, kWhole));
    }
  }

  static std::string Describe(Range range, bool whole) {
    if (range.high == Range().high) return "a number";
    if (!whole) return absl::StrCat("a number from ", range.low, " to ", range.high);
    return absl::StrCat("a whole number from ", static_cast<int64_t>(range.low), " to ",
                        static_cast<int64_t>(range.high));
  }

  template <typename Enum>
  void ReadChoice(const char* name, const json& member, Enum& value) {
    std::string choices;
    for (size_t i = 0; i < std::size(Names<Enum>::kAll); ++i) {
      if (member == Names<Enum>::kAll[i]) {
        value = static_cast<Enum>(i);
        return;
      }
      absl::StrAppend(&choices, i == 0 ? "" : ", ", Names<Enum>::kAll[i]);
    }
    Fail(name, choices);
  }
  void Fail(const std::string& name, const std::string& wanted) {
    Fail(absl::StrCat("option \"", name, "\" takes ", wanted));
  }
  void Fail(const std::string& message) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(message);
  }

  const json& object_;
  json unread_;
  absl::Status status_;
};

}  // namespace

json ToJson(const NetworkOptions& options) {
  JsonWriter writer;
  VisitNetwork(options, writer);
  return writer.Take();
}

json ToJson(const TrainingOptions& options) {
  JsonWriter writer;
  VisitStep(options, writer);
  return writer.Take();
}

json ToJson(const RankingQuality& quality) {
  JsonWriter writer;
  VisitQuality(quality, writer);
  return writer.Take();
}

json ToJson(const EpochReport& report) {
  return {{"epoch", report.epoch},
          {"learning_rate", report.learning_rate},
          {"loss", report.loss},
          {"validation", ToJson(report.validation)},
          {"best", report.best}};
}

json ToJson(const TrainerOptions& options) {
  JsonWriter writer;
  VisitTrainer(options, writer);
  json result = writer.Take();
  result["network"] = ToJson(options.network);
  result["step"] = ToJson(options.step);
  return result;
}

absl::Status UpdateFromJson(const json& json, NetworkOptions* options) {
  JsonReader reader(json);
  VisitNetwork(*options, reader);
  absl::Status status = reader.Finish();
  if (status.ok() && options->hidden % 4 != 0) {
    status = absl::InvalidArgumentError("option \"hidden\" takes a multiple of 4");
  }
  return status;
}

absl::Status UpdateFromJson(const json& json, TrainingOptions* options) {
  JsonReader reader(json);
  VisitStep(*options, reader);
  return reader.Finish();
}

absl::Status UpdateFromJson(const json& json, TrainerOptions* options) {
  JsonReader reader(json);
  reader.Skip("network");
  reader.Skip("step");
  VisitTrainer(*options, reader);
  absl::Status status = reader.Finish();
  if (status.ok() && json.contains("network")) {
    status = UpdateFromJson(json["network"], &options->network);
  }
  if (status.ok() && json.contains("step")) status = UpdateFromJson(json["step"], &options->step);
  return status;
}

absl::StatusOr<EpochReport> EpochReportFromJson(const json& json) {
  EpochReport report;
  JsonReader reader(json);
  reader("epoch", report.epoch, kCount);
  reader("learning_rate", report.learning_rate);
  reader("loss", report.loss);
  reader("best", report.best);
  reader.Skip("validation");
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  if (!json.contains("validation")) return absl::InvalidArgumentError("no \"validation\"");
  JsonReader quality(json["validation"]);
  VisitQuality(report.validation, quality);
  if (absl::Status status = quality.Finish(); !status.ok()) return status;
  return report;
}

}  // namespace autotune
