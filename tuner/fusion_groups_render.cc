// Map of this file: what a cut or join changes, by each model; groups as text; merges of two groups
// as text.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "search/fusion_space.h"
#include "tuner/fusion_render.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

// Two groups, and the edges from one to the other.
struct Merge {
  size_t first = 0;
  size_t second = 0;
  std::vector<int64_t> edges;
  double change = 0;  // by the model that orders them
};

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

const FusionScorer& BestOf(const FusionScorer& scorer, const FusionEvidence& evidence) {
  return evidence.refitted != nullptr ? *evidence.refitted : scorer;
}

// The change of the program's time by each model, of which `change_by` knows it.
template <typename ChangeBy>
std::string ByModel(const FusionScorer& scorer, const FusionEvidence& evidence,
                    const ChangeBy& change_by) {
  std::string text = absl::StrCat("analytical ", FormatChange(change_by(scorer)));
  if (evidence.learned != nullptr) {
    absl::StrAppend(&text, "  network ", FormatChange(change_by(*evidence.learned)));
  }
  if (evidence.refitted != nullptr) {
    absl::StrAppend(&text, "  refitted ", FormatChange(change_by(*evidence.refitted)));
  }
  return text;
}

// The groups that edges join which are neither cut nor within one group, by what one kernel in
// their place would change.
std::vector<Merge> MergesOf(const FusionGraph& graph, const FusionScorer& scorer,
                            const FusionDecision& decision,
                            const std::vector<FusionScorer::Group>& groups) {
  std::vector<std::vector<size_t>> groups_of(graph.nodes().size());
  for (size_t g = 0; g < groups.size(); ++g) {
    for (int32_t node : groups[g].nodes) groups_of[static_cast<size_t>(node)].push_back(g);
  }
  absl::btree_map<std::pair<size_t, size_t>, std::vector<int64_t>> pairs;
  for (int32_t edge = 0; edge < graph.edge_count(); ++edge) {
    const FusionEdge& ends = graph.edges()[static_cast<size_t>(edge)];
    const auto& from = groups_of[static_cast<size_t>(ends.producer)];
    const auto& to = groups_of[static_cast<size_t>(ends.consumer)];
    const auto executions = [&graph](int32_t node) {
      return graph.nodes()[static_cast<size_t>(node)].executions;
    };
    // What several kernels compute for themselves is not read from one of them.
    if (from.size() != 1 || to.size() != 1 || from == to ||
        executions(ends.producer) != executions(ends.consumer) ||
        std::binary_search(decision.cuts.begin(), decision.cuts.end(), edge)) {
      continue;
    }
    pairs[{from.front(), to.front()}].push_back(edge);
  }
  std::vector<Merge> merges;
  for (auto& [pair, edges] : pairs) {
    const double change =
        scorer.MergeEffect(Config(decision), groups[pair.first].nodes, groups[pair.second].nodes);
    merges.push_back({pair.first, pair.second, std::move(edges), change});
  }
  std::stable_sort(merges.begin(), merges.end(),
                   [](const Merge& a, const Merge& b) { return a.change < b.change; });
  return merges;
}

std::string MergesText(const FusionGraph& graph, const FusionScorer& scorer,
                       const FusionDecision& decision, int64_t limit,
                       const FusionEvidence& evidence,
                       const std::vector<FusionScorer::Group>& groups) {
  std::vector<Merge> merges = MergesOf(graph, BestOf(scorer, evidence), decision, groups);
  if (merges.empty()) return "";
  std::string text =
      "\nOne kernel in the place of two, which is not expected of the compiler and which no "
      "barrier "
      "can force:\n";
  const size_t all = merges.size();
  if (limit > 0 && all > static_cast<size_t>(limit)) merges.resize(static_cast<size_t>(limit));
  for (const Merge& merge : merges) {
    absl::StrAppend(&text, "    merge ", EdgeName(graph, merge.edges.front()));
    if (merge.edges.size() > 1) absl::StrAppend(&text, " and ", merge.edges.size() - 1, " more");
    absl::StrAppend(
        &text, "  ",
        MergeEffects(scorer, decision, groups[merge.first], groups[merge.second], evidence), "\n");
  }
  if (merges.size() < all) absl::StrAppend(&text, "    ", all - merges.size(), " more\n");
  return text;
}

}  // namespace

std::vector<FusionScorer::Group> ShownGroups(const FusionScorer& scorer,
                                             const FusionDecision& decision,
                                             const FusionEvidence& evidence) {
  if (evidence.realised != nullptr && decision.cuts.empty()) return *evidence.realised;
  return BestOf(scorer, evidence).GroupsUnder(Config(decision));
}

std::string GroupsTitle(const std::vector<FusionScorer::Group>& groups,
                        const FusionDecision& decision, const FusionEvidence& evidence) {
  const bool realised = evidence.realised != nullptr && decision.cuts.empty();
  double total = 0;
  for (const FusionScorer::Group& group : groups) total += group.seconds;
  return absl::StrFormat("%d %s%s, %s by %s", groups.size(), realised ? "kernel" : "group",
                         groups.size() == 1 ? "" : "s", FormatSeconds(total),
                         realised ? "the static schedule of the default compilation"
                         : evidence.refitted != nullptr
                             ? "what was compiled"
                             : "the analytical model: expected, not compiled");
}

double FusionEffectOf(const FusionScorer& scorer, const FusionDecision& decision, int64_t edge) {
  const Config configs[] = {Config(decision), Config(FlipEdge(decision, edge))};
  const std::vector<double> scores = scorer.Score(configs);
  return std::exp(scores[1] - scores[0]) - 1;
}

std::optional<FusionTimes> CompiledEffect(const FusionDecision& decision, int64_t edge,
                                          const FusionEvidence& evidence) {
  if (evidence.recording == nullptr || !decision.cuts.empty()) return std::nullopt;
  const FusionEntry* base = evidence.recording->Find({});
  const FusionEntry* cut = evidence.recording->Find(FusionDecision{{edge}});
  if (base == nullptr || cut == nullptr || base->failure || cut->failure) return std::nullopt;
  return CompareFusions(cut->total, base->total).change;
}

std::string FusionEffects(const FusionScorer& scorer, const FusionDecision& decision, int64_t edge,
                          const FusionEvidence& evidence) {
  std::string text = ByModel(scorer, evidence, [&](const FusionScorer& model) {
    return FusionEffectOf(model, decision, edge);
  });
  const std::optional<FusionTimes> compiled = CompiledEffect(decision, edge, evidence);
  if (!compiled.has_value()) return text;
  const FusionTimes& change = *compiled;
  absl::StrAppend(&text, "  compiled ", FormatChange(change.schedule), ", bundles ",
                  FormatChange(change.bundles), ", compiler ", FormatChange(change.compiler));
  return text;
}

std::string MergeEffects(const FusionScorer& scorer, const FusionDecision& decision,
                         const FusionScorer::Group& first, const FusionScorer::Group& second,
                         const FusionEvidence& evidence) {
  return ByModel(scorer, evidence, [&](const FusionScorer& model) {
    return model.MergeEffect(Config(decision), first.nodes, second.nodes);
  });
}

std::string FusionGroupsText(const FusionGraph& graph, const FusionScorer& scorer,
                             const FusionDecision& decision, const std::string& device,
                             int64_t limit, const FusionEvidence& evidence) {
  std::vector<FusionScorer::Group> groups = ShownGroups(scorer, decision, evidence);
  const std::string merges = MergesText(graph, scorer, decision, limit, evidence, groups);
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  double total = 0;
  for (const FusionScorer::Group& group : groups) total += group.seconds;
  std::string text = absl::StrFormat(
      "ESTIMATE for %s; no time was measured.\n%d fusible edges; %s\n"
      "cut EDGE: what the program's time would change by, from each model that there is%s\n",
      device, graph.edge_count(), GroupsTitle(groups, decision, evidence),
      evidence.recording == nullptr
          ? ""
          : ";\ncompiled: with this cut alone, by the static schedule with transfers, its bundles "
            "alone,\nand the compiler's own estimate");
  if (limit > 0 && static_cast<int64_t>(groups.size()) > limit) {
    groups.resize(static_cast<size_t>(limit));
  }
  for (const FusionScorer::Group& group : groups) {
    std::vector<std::string> names;
    for (int32_t node : group.nodes) {
      names.emplace_back(graph.nodes()[static_cast<size_t>(node)].instruction->name());
    }
    absl::StrAppend(&text, "\n", FormatSeconds(group.seconds), " ",
                    absl::StrFormat("(%.1f %%)  ", total > 0 ? 100 * group.seconds / total : 0.0),
                    names.empty() ? "(the compiler's own)" : absl::StrJoin(names, " "), "\n");
    for (int64_t edge : InnerEdges(graph, group, decision)) {
      absl::StrAppend(&text, "    cut ", edge, "  ", EdgeName(graph, edge), "  ",
                      FusionEffects(scorer, decision, edge, evidence), "\n");
    }
  }
  for (int64_t edge : decision.cuts) {
    absl::StrAppend(&text, "\njoin ", edge, "  ", EdgeName(graph, edge), "  ",
                    FusionEffects(scorer, decision, edge, evidence));
  }
  return (decision.cuts.empty() ? text : text + "\n") + merges;
}

}  // namespace autotune
