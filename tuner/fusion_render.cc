#include "tuner/fusion_render.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "tuner/text_table.h"

namespace autotune {
namespace {

using nlohmann::json;

json TimesJson(const FusionTimes& times) {
  return {{"schedule", times.schedule}, {"bundles", times.bundles}, {"compiler", times.compiler}};
}

json EntryJson(const FusionGraph& graph, const FusionEntry& entry) {
  json edges = json::array();
  for (int64_t cut : entry.decision.cuts) edges.push_back(EdgeName(graph, cut));
  return {{"cuts", entry.decision.cuts},
          {"edges", std::move(edges)},
          {"grouping", entry.key},
          {"kernels", entry.kernels.size()},
          {"estimates_seconds", TimesJson(entry.total)}};
}

std::string NodeName(const FusionGraph& graph, int32_t node) {
  return std::string(graph.nodes()[static_cast<size_t>(node)].instruction->name());
}

}  // namespace

std::string FormatChange(double change) { return absl::StrFormat("%+.2f %%", change * 100); }

std::string EdgeName(const FusionGraph& graph, int64_t edge) {
  const FusionEdge& ends = graph.edges()[static_cast<size_t>(edge)];
  return absl::StrCat(NodeName(graph, ends.producer), " -> ", NodeName(graph, ends.consumer));
}

std::string FusionTuningText(const FusionGraph& graph, const FusionTuning& tuning,
                             const std::string& device) {
  std::string text = absl::StrFormat(
      "ESTIMATES for %s, from the compiler's static schedule; no time was measured.\n"
      "%d fusible edges, %d of them fused by default; %d compilations, %d groupings;\n"
      "%d of %d proposals realised a known grouping, foreseen at no cost (%d were not "
      "foreseen).\n\n",
      device, tuning.fusible_edges, tuning.fused_edges, tuning.compilations, tuning.groupings,
      tuning.foreseen, tuning.proposals, tuning.repeated);
  TextTable table;
  table.Column("", TextTable::Align::kLeft).Column("schedule").Column("bundles alone");
  table.Column("compiler").Column("kernels").Column("cuts");
  const auto row = [&](const char* name, const FusionEntry& entry) {
    table.Row({name, FormatSeconds(entry.total.schedule), FormatSeconds(entry.total.bundles),
               FormatSeconds(entry.total.compiler), absl::StrCat(entry.kernels.size()),
               absl::StrCat(entry.decision.cuts.size())});
  };
  row("default", tuning.base);
  row("fastest", tuning.fastest);
  const FusionTimes& change = tuning.comparison.change;
  table.Row({"change", FormatChange(change.schedule), FormatChange(change.bundles),
             FormatChange(change.compiler)});
  if (tuning.agreed.decision != tuning.fastest.decision) row("fastest agreed", tuning.agreed);
  text += table.ToString();
  if (tuning.fastest.decision.cuts.empty()) {
    text += "\nNothing is faster than the compiler's own choice.\n";
  } else if (tuning.unsettled) {
    text +=
        "\nUNSETTLED: the estimates disagree, so the default stays chosen. Only hardware can tell;"
        "\nthe candidate to measure there:\n";
  } else {
    text += "\nChosen:\n";
  }
  for (int64_t cut : tuning.fastest.decision.cuts) {
    absl::StrAppend(&text, "  cut ", cut, "  ", EdgeName(graph, cut), "\n");
  }
  if (!tuning.fastest.decision.cuts.empty()) {
    text += tuning.confirmed ? "Confirmed by compiling the whole program again.\n"
                             : "Not confirmed by compiling the whole program.\n";
  }
  return text;
}

json FusionTuningJson(const FusionGraph& graph, const FusionTuning& tuning,
                      const std::string& device) {
  const FusionTimes& change = tuning.comparison.change;
  return {{"schema", "autotune.fusion/1"},
          {"program", tuning.recording.origin().program},
          {"device", device},
          {"time_source", "estimate"},
          {"versions", tuning.recording.origin().versions},
          {"fusible_edges", tuning.fusible_edges},
          {"fused_edges", tuning.fused_edges},
          {"compilations", tuning.compilations},
          {"proposals", tuning.proposals},
          {"foreseen", tuning.foreseen},
          {"repeated", tuning.repeated},
          {"groupings", tuning.groupings},
          {"default", EntryJson(graph, tuning.base)},
          {"fastest", EntryJson(graph, tuning.fastest)},
          {"fastest_agreed", EntryJson(graph, tuning.agreed)},
          {"change", TimesJson(change)},
          {"unsettled", tuning.unsettled},
          {"confirmed", tuning.confirmed},
          {"best_so_far", tuning.best_so_far}};
}

BestConfig FusionBestConfig(const FusionGraph& graph, const FusionTuning& tuning,
                            const std::string& program_path, const std::string& device,
                            const std::string& versions) {
  BestConfig best;
  best.program = program_path;
  best.program_name = std::string(graph.module().name());
  best.device = device;
  best.backend = "aot";
  best.versions = versions;
  best.time_source = TimeSource::kEstimate;
  BestConfig::KernelEntry entry;
  entry.name = best.program_name;
  entry.kind = "program";
  entry.fingerprint = tuning.recording.origin().fingerprint;
  entry.config = Config(tuning.Chosen().decision);
  entry.seconds = tuning.Chosen().total.schedule;
  entry.default_config = Config(FusionDecision{});
  entry.default_seconds = tuning.base.total.schedule;
  best.kernels.push_back(std::move(entry));
  return best;
}

}  // namespace autotune
