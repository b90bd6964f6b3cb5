#include <optional>
#include <string>
#include <utility>

#include "hlo/fingerprint.h"
#include "nlohmann/json.hpp"
#include "tuner/best_config.h"
#include "tuner/report_render.h"

namespace autotune {
namespace {

using nlohmann::json;

json ToJson(const Measurement& measurement) {
  if (!measurement.ok()) {
    return {{"failure",
             {{"kind", std::string(FailureKindName(measurement.failure().kind))},
              {"message", measurement.failure().message}}}};
  }
  json value = {{"seconds", measurement.MedianSeconds()},
                {"spread_seconds", measurement.SpreadSeconds()},
                {"samples", json(std::vector<double>(measurement.samples().begin(),
                                                     measurement.samples().end()))}};
  if (measurement.compile_seconds) value["compile_seconds"] = *measurement.compile_seconds;
  if (measurement.compiler_estimate_seconds) {
    value["compiler_estimate_seconds"] = *measurement.compiler_estimate_seconds;
  }
  if (!measurement.method.empty()) value["method"] = measurement.method;
  return value;
}

json ToJson(const ConfigResult& result) {
  json value = ToJson(result.measurement);
  value["config"] = result.config.ToJson();
  return value;
}

json ToJson(const ModelChoice& choice) {
  json value = {
      {"model", choice.model}, {"config", choice.config.ToJson()}, {"score", choice.score}};
  if (choice.seconds) value["seconds"] = *choice.seconds;
  return value;
}

json ToJson(const FailureCount& failure) {
  return {{"kind", std::string(FailureKindName(failure.kind))},
          {"count", failure.count},
          {"first_message", failure.first_message}};
}

json ToJson(const SpeedupInterval& interval) {
  return {{"low", interval.low},
          {"high", interval.high},
          {"confidence", interval.confidence},
          {"kernels", interval.kernels},
          {"kernels_without_repeats", interval.kernels_without_repeats}};
}

json ToJson(const RankingModel& model) {
  return {{"name", model.name},
          {"prediction_unit", model.predicts_seconds ? "log-seconds" : "score"}};
}

json ToJson(const KernelReport& kernel);
json ToJson(const ProgramTotal& total);
json ToJson(const ProgramReport& program);
json ToJson(const ProgressPoint& point);
json ToJson(const CandidateOutcome& outcome);

template <typename T>
json ToJsonList(const std::vector<T>& values) {
  json list = json::array();
  for (const T& value : values) list.push_back(ToJson(value));
  return list;
}

template <typename T>
void SetIf(json& object, const char* member, const std::optional<T>& value) {
  if (value) object[member] = *value;
}

json ToJson(const KernelReport& kernel) {
  json value = {{"name", kernel.name},
                {"kind", kernel.kind},
                {"count", kernel.count},
                {"fingerprint", FingerprintText(kernel.fingerprint)},
                {"opaque", kernel.opaque},
                {"space", kernel.space},
                {"measurements", kernel.measurements},
                {"reused", kernel.reused},
                {"failures", ToJsonList(kernel.failures)},
                {"model_choices", ToJsonList(kernel.model_choices)}};
  SetIf(value, "space_size", kernel.space_size);
  if (!kernel.not_tuned.empty()) value["not_tuned"] = kernel.not_tuned;
  if (kernel.compiler_default) value["default"] = ToJson(*kernel.compiler_default);
  if (kernel.best) value["best"] = ToJson(*kernel.best);
  if (kernel.best_known) value["best_known"] = ToJson(*kernel.best_known);
  if (kernel.cost) {
    value["cost"] = {{"flops", kernel.cost->flops},
                     {"transcendentals", kernel.cost->transcendentals},
                     {"bytes", kernel.cost->bytes},
                     {"roofline_seconds", kernel.cost->roofline_seconds}};
  }
  SetIf(value, "compiler_estimate_seconds", kernel.compiler_estimate_seconds);
  SetIf(value, "model_tau", kernel.model_tau);
  SetIf(value, "speedup", kernel.Speedup());
  if (kernel.speedup_interval) value["speedup_interval"] = ToJson(*kernel.speedup_interval);
  return value;
}

json ToJson(const ProgramTotal& total) {
  return {{"name", total.name}, {"seconds", total.seconds}, {"kernels", total.kernels}};
}

json ToJson(const ProgramReport& program) {
  json kernels = json::array();
  for (const ProgramKernel& kernel : program.kernels) {
    kernels.push_back({{"kernel", kernel.kernel}, {"count", kernel.count}});
  }
  json value = {{"path", program.path}, {"name", program.name}, {"kernels", std::move(kernels)}};
  SetIf(value, "default_seconds", program.default_seconds);
  SetIf(value, "best_seconds", program.best_seconds);
  SetIf(value, "speedup", program.Speedup());
  return value;
}

json ToJson(const ProgressPoint& point) {
  return {{"measurements", point.measurements},
          {"wall_seconds", point.wall_seconds},
          {"device_seconds", point.device_seconds},
          {"program_seconds", point.program_seconds}};
}

json ToJson(const CandidateOutcome& outcome) {
  json value = {{"sequence", outcome.sequence},
                {"kernel", outcome.kernel},
                {"config", outcome.config.ToJson()},
                {"role", std::string(CandidateRoleName(outcome.role))},
                {"fate", std::string(FateName(outcome.fate))},
                {"measurements", outcome.measurements},
                {"wall_seconds", outcome.wall_seconds},
                {"device_seconds", outcome.device_seconds}};
  json predictions = json::array();
  for (const Prediction& prediction : outcome.predictions) {
    predictions.push_back(
        {{"model", prediction.model}, {"score", prediction.score}, {"rank", prediction.rank}});
  }
  if (!predictions.empty()) value["predictions"] = std::move(predictions);
  if (outcome.measurement) value["result"] = ToJson(*outcome.measurement);
  return value;
}

json RunJson(const TuningReport& report) {
  json run = {{"id", report.run_id},
              {"autotune_version", report.autotune_version},
              {"program", report.program},
              {"program_name", report.program_name},
              {"backend", report.backend},
              {"backend_reason", report.backend_reason},
              {"device", report.device},
              {"versions", report.versions},
              {"time_source", std::string(TimeSourceName(report.time_source))},
              {"strategy", report.strategy},
              {"model", report.model},
              {"space", report.space},
              {"seed", report.seed},
              {"started_unix_micros", report.started_unix_micros},
              {"wall_seconds", report.wall_seconds},
              {"outcome", std::string(RunOutcomeName(report.outcome))},
              {"recordings", report.recordings},
              {"output_directory", report.output_directory},
              {"host", report.host}};
  SetIf(run, "budget", report.budget);
  SetIf(run, "budget_seconds", report.budget_seconds);
  if (!report.error.empty()) run["error"] = report.error;
  return run;
}

}  // namespace

json RenderJson(const TuningReport& report) {
  json document = {
      {"schema", "autotune.tune/1"},
      {"run", RunJson(report)},
      {"store",
       {{"url", report.store}, {"hits", report.store_hits}, {"misses", report.store_misses}}},
      {"warnings", report.warnings},
      {"commands",
       {{"reproduce", report.commands.reproduce},
        {"resume", report.commands.resume},
        {"apply", report.commands.apply}}},
      {"measurements", report.measurements},
      {"models", ToJsonList(report.models)},
      {"totals", ToJsonList(report.totals)},
      {"kernels", ToJsonList(report.kernels)},
      {"progress", ToJsonList(report.progress)},
      {"candidates", ToJsonList(report.candidates)},
      {"time",
       {{"load_seconds", report.time.load},
        {"search_seconds", report.time.search},
        {"measure_seconds", report.time.measure},
        {"store_seconds", report.time.store},
        {"device_compile_seconds", report.time.device_compile},
        {"device_run_seconds", report.time.device_run}}}};
  SetIf(document, "speedup", report.Speedup());
  if (!report.programs.empty()) document["programs"] = ToJsonList(report.programs);
  if (report.speedup_interval) document["speedup_interval"] = ToJson(*report.speedup_interval);
  return document;
}

}  // namespace autotune
