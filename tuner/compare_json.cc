#include <cmath>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "hlo/fingerprint.h"
#include "nlohmann/json.hpp"
#include "tuner/compare_render.h"

namespace autotune {
namespace {

using Json = nlohmann::json;

Json OrNull(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json();
}

Json ToJson(const ReachStatistic& reach) {
  return {{"percent", reach.percent},       {"runs", reach.runs},
          {"reached", reach.reached},       {"p10", OrNull(reach.p10)},
          {"median", OrNull(reach.median)}, {"p90", OrNull(reach.p90)}};
}

Json ToJson(const SlowdownStatistic& slowdown) {
  return {{"at", slowdown.at},
          {"p10", OrNull(slowdown.p10)},
          {"median", OrNull(slowdown.median)},
          {"p90", OrNull(slowdown.p90)},
          {"mean", OrNull(slowdown.mean)}};
}

Json ToJson(const TopKStatistic& top) { return {{"k", top.k}, {"error", top.error}}; }

Json ToJson(const PredictedPoint& point);
Json ToJson(const MethodResult& method);
Json ToJson(const ModelAccuracy& model);
Json ToJson(const ModelSummary& model);
Json ToJson(const KernelComparison& kernel);

template <typename T>
Json ListToJson(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(ToJson(value));
  return list;
}

Json ToJson(const MethodResult& method) {
  return {{"method", method.method},
          {"runs", method.runs},
          {"evaluations_to_within", ListToJson(method.evaluations_to_within)},
          {"seconds_to_within", ListToJson(method.seconds_to_within)},
          {"slowdown_after_evaluations", ListToJson(method.slowdown_after_evaluations)},
          {"slowdown_after_seconds", ListToJson(method.slowdown_after_seconds)},
          {"evaluation_curve", ListToJson(method.evaluation_curve)},
          {"clock_curve", ListToJson(method.clock_curve)}};
}

Json ToJson(const PredictedPoint& point) {
  return {{"config", point.config},
          {"prediction", OrNull(point.prediction)},
          {"seconds", point.seconds}};
}

Json ToJson(const ModelAccuracy& model) {
  return {{"model", model.model},
          {"prediction_unit", model.predicts_seconds ? "log-seconds" : "score"},
          {"kendall_tau", OrNull(model.kendall_tau)},
          {"top_k", ListToJson(model.top_k)},
          {"chosen", {{"config", model.chosen_config}, {"seconds", model.chosen_seconds}}},
          {"refused", model.refused},
          {"points", ListToJson(model.points)}};
}

Json ToJson(const ModelSummary& model) {
  return {{"model", model.model},
          {"kernels", model.kernels},
          {"mean_kendall_tau", OrNull(model.mean_kendall_tau)},
          {"mean_top_k", ListToJson(model.mean_top_k)},
          {"tile_size_ape", OrNull(model.tile_size_ape)}};
}

Json ToJson(const KernelComparison& kernel) {
  return {{"name", kernel.name},
          {"kind", kernel.kind},
          {"count", kernel.count},
          {"fingerprint", FingerprintText(kernel.fingerprint)},
          {"opaque", kernel.opaque},
          {"configs", kernel.configs},
          {"failures", kernel.failures},
          {"best", {{"config", kernel.best_config}, {"seconds", kernel.best_seconds}}},
          {"default_seconds", OrNull(kernel.default_seconds)},
          {"methods", ListToJson(kernel.methods)},
          {"models", ListToJson(kernel.models)}};
}

}  // namespace

Json ComparisonToJson(const ComparisonReport& report) {
  return {{"schema", "autotune.compare/1"},
          {"autotune_version", report.autotune_version},
          {"program", report.program},
          {"recordings", report.recordings},
          {"device", report.device},
          {"backend", report.backend},
          {"versions", report.versions},
          {"time_source", std::string(TimeSourceName(report.time_source))},
          {"command", report.command},
          {"methods", report.methods},
          {"seeds", report.seeds},
          {"first_seed", report.first_seed},
          {"with_default", report.with_default},
          {"max_evaluations", report.max_evaluations ? Json(*report.max_evaluations) : Json()},
          {"compile_seconds", report.compile_seconds},
          {"repeats", report.repeats},
          {"wall_seconds", report.wall_seconds},
          {"kernels", ListToJson(report.kernels)},
          {"overall", ListToJson(report.overall)},
          {"models", ListToJson(report.models)},
          {"warnings", report.warnings}};
}

}  // namespace autotune
