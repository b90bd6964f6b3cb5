#include "tuner/fusion_render.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "search/fusion_space.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

using nlohmann::json;

std::string Percent(double change) { return absl::StrFormat("%+.2f %%", change * 100); }

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

// The edges between members of a group that are not cut.
std::vector<int64_t> InnerEdges(const FusionGraph& graph, const FusionScorer::Group& group,
                                const FusionDecision& decision) {
  std::vector<int64_t> inner;
  for (int32_t node : group.nodes) {
    for (int32_t edge : graph.OutEdges(node)) {
      const int32_t consumer = graph.edges()[static_cast<size_t>(edge)].consumer;
      if (std::binary_search(group.nodes.begin(), group.nodes.end(), consumer) &&
          !std::binary_search(decision.cuts.begin(), decision.cuts.end(), edge)) {
        inner.push_back(edge);
      }
    }
  }
  return inner;
}

// What the model expects of cutting, or joining, one edge more: relative change of the program.
double EffectOf(const FusionScorer& scorer, const FusionDecision& decision, int64_t edge) {
  const Config configs[] = {Config(decision), Config(FlipEdge(decision, edge))};
  const std::vector<double> scores = scorer.Score(configs);
  return std::exp(scores[1] - scores[0]) - 1;
}

// What all that is known says of cutting, or joining, one edge more.
std::string Effects(const FusionScorer& scorer, const FusionDecision& decision, int64_t edge,
                    const FusionEvidence& evidence) {
  std::string text = Percent(EffectOf(scorer, decision, edge));
  if (evidence.refitted != nullptr) {
    absl::StrAppend(&text, "  refitted ", Percent(EffectOf(*evidence.refitted, decision, edge)));
  }
  if (evidence.recording == nullptr || !decision.cuts.empty()) return text;
  const FusionEntry* base = evidence.recording->Find({});
  const FusionEntry* cut = evidence.recording->Find(FusionDecision{{edge}});
  if (base == nullptr || cut == nullptr || base->failure || cut->failure) return text;
  const FusionTimes change = CompareFusions(cut->total, base->total).change;
  absl::StrAppend(&text, "  compiled ", Percent(change.schedule), ", bundles ",
                  Percent(change.bundles), ", compiler ", Percent(change.compiler));
  return text;
}

}  // namespace

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
  table.Row(
      {"change", Percent(change.schedule), Percent(change.bundles), Percent(change.compiler)});
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

std::string FusionGroupsText(const FusionGraph& graph, const FusionScorer& scorer,
                             const FusionDecision& decision, int64_t limit,
                             const FusionEvidence& evidence) {
  // The refitted model knows more of the times.
  const FusionScorer& times = evidence.refitted != nullptr ? *evidence.refitted : scorer;
  std::vector<FusionScorer::Group> groups = times.GroupsUnder(Config(decision));
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  double total = 0;
  for (const FusionScorer::Group& group : groups) total += group.seconds;
  std::string text = absl::StrFormat(
      "%d fusible edges, %d groups expected%s, %s by %s\n", graph.edge_count(), groups.size(),
      evidence.recording != nullptr ? " from the edges that the default fused" : "",
      FormatSeconds(total),
      evidence.refitted != nullptr ? "what was compiled" : "the analytical model");
  if (limit > 0 && static_cast<int64_t>(groups.size()) > limit) {
    groups.resize(static_cast<size_t>(limit));
  }
  for (const FusionScorer::Group& group : groups) {
    std::vector<std::string> names;
    for (int32_t node : group.nodes) names.push_back(NodeName(graph, node));
    absl::StrAppend(&text, "\n", FormatSeconds(group.seconds), " ",
                    absl::StrFormat("(%.1f %%)  ", total > 0 ? 100 * group.seconds / total : 0.0),
                    absl::StrJoin(names, " "), "\n");
    for (int64_t edge : InnerEdges(graph, group, decision)) {
      absl::StrAppend(&text, "    cut ", edge, "  ", EdgeName(graph, edge), "  ",
                      Effects(scorer, decision, edge, evidence), "\n");
    }
  }
  for (int64_t edge : decision.cuts) {
    absl::StrAppend(&text, "\njoin ", edge, "  ", EdgeName(graph, edge), "  ",
                    Effects(scorer, decision, edge, evidence));
  }
  return decision.cuts.empty() ? text : text + "\n";
}

std::string FusionGroupsDot(const FusionGraph& graph, const FusionScorer& scorer,
                            const FusionDecision& decision) {
  const std::vector<FusionScorer::Group> groups = scorer.GroupsUnder(Config(decision));
  double dearest = 0;
  for (const FusionScorer::Group& group : groups) dearest = std::max(dearest, group.seconds);
  std::string dot = "digraph fusion {\n  node [shape=box, style=filled, fillcolor=white];\n";
  std::set<int32_t> drawn;  // an operation of several groups stands in the first
  for (const FusionScorer::Group& group : groups) {
    // From white to red (hue 0) with the share of the dearest.
    const double share = dearest > 0 ? std::sqrt(group.seconds / dearest) : 0;
    absl::StrAppendFormat(&dot,
                          "  subgraph cluster_%d {\n    label=\"%s\"; style=filled; "
                          "fillcolor=\"0.0 %.3f 1.0\";\n",
                          group.root, FormatSeconds(group.seconds), 0.8 * share);
    for (int32_t node : group.nodes) {
      if (!drawn.insert(node).second) continue;
      absl::StrAppendFormat(&dot, "    n%d [label=\"%s\"];\n", node, NodeName(graph, node));
    }
    dot += "  }\n";
  }
  for (int32_t edge = 0; edge < graph.edge_count(); ++edge) {
    const FusionEdge& ends = graph.edges()[static_cast<size_t>(edge)];
    const bool cut = std::binary_search(decision.cuts.begin(), decision.cuts.end(), edge);
    absl::StrAppendFormat(&dot, "  n%d -> n%d [label=\"%d\"%s];\n", ends.producer, ends.consumer,
                          edge, cut ? ", style=dashed" : "");
  }
  return dot + "}\n";
}

}  // namespace autotune
