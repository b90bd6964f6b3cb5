#include "tuner/fusion_picture.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tuner/printable.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

// Fills of the legend, from the cheapest to the dearest group.
constexpr int kLegendSteps = 4;
// The longest text of a node's label.
constexpr size_t kLabelLength = 40;

// Text between the quotes of a label.
std::string Quoted(const std::string& text) {
  std::string quoted;
  for (char c : PrintableLine(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted;
}

std::string Shortened(const std::string& text) {
  return text.size() <= kLabelLength ? text : text.substr(0, kLabelLength - 3) + "...";
}

// Text in an HTML-like label.
std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(PrintableLine(text),
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

// From white to red with the root of the share of the dearest group.
std::string FillOf(double share) {
  const int other = static_cast<int>(std::lround(255 * (1 - 0.65 * std::sqrt(share))));
  return absl::StrFormat("#ff%02x%02x", other, other);
}

class Picture {
 public:
  Picture(const FusionGraph& graph, const FusionScorer& scorer, const FusionDecision& decision,
          int64_t limit, const FusionEvidence& evidence)
      : graph_(graph),
        scorer_(scorer),
        times_(evidence.refitted != nullptr ? *evidence.refitted : scorer),
        decision_(decision),
        evidence_(evidence),
        groups_(ShownGroups(scorer, decision, evidence)),
        groups_of_(graph.nodes().size()),
        is_shown_(groups_.size()) {
    for (size_t g = 0; g < groups_.size(); ++g) {
      dearest_ = std::max(dearest_, groups_[g].seconds);
      total_ += groups_[g].seconds;
      for (int32_t node : groups_[g].nodes) groups_of_[static_cast<size_t>(node)].push_back(g);
    }
    Choose(limit);
  }

  std::string Draw(const std::string& device) {
    text_ =
        "digraph fusion {\n  graph [fontname=\"Helvetica,Arial,sans-serif\", labelloc=t, "
        "nodesep=0.3, ranksep=0.35, nslimit=2, nslimit1=2, mclimit=0.5];\n"
        "  node [fontname=\"Helvetica,Arial,sans-serif\", fontsize=10, shape=box, style=filled, "
        "fillcolor=white, margin=\"0.08,0.04\"];\n"
        "  edge [fontname=\"Helvetica,Arial,sans-serif\", fontsize=9, arrowsize=0.6];\n";
    AddHead(device);
    for (size_t g = 0; g < groups_.size(); ++g) AddGroup(g);
    if (shown_ == groups_.size()) AddNodesOutside();
    for (int32_t edge = 0; edge < graph_.edge_count(); ++edge) AddEdge(edge);
    return text_ + "}\n";
  }

 private:
  // The `limit` dearest groups (0: all) are shown.
  void Choose(int64_t limit) {
    std::vector<size_t> order(groups_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [this](size_t a, size_t b) {
      return groups_[a].seconds > groups_[b].seconds;
    });
    shown_ = limit > 0 ? std::min(order.size(), static_cast<size_t>(limit)) : order.size();
    order.resize(shown_);
    for (size_t g : order) is_shown_[g] = true;
  }

  // The title, and the legend below it.
  void AddHead(const std::string& device) {
    const std::string which =
        shown_ < groups_.size() ? absl::StrFormat("; the %d dearest shown", shown_) : "";
    absl::StrAppendFormat(
        &text_,
        "  label=<<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"3\">\n"
        "    <TR><TD><FONT POINT-SIZE=\"16\">ESTIMATE for %s, no time was "
        "measured</FONT></TD></TR>\n"
        "    <TR><TD>%s: %s%s</TD></TR>\n    <TR><TD>"
        "<TABLE BORDER=\"0\" CELLBORDER=\"1\" CELLSPACING=\"0\" CELLPADDING=\"4\"><TR>"
        "<TD BORDER=\"0\">time of a group</TD>",
        Escaped(device), Escaped(Shortened(std::string(graph_.module().name()))),
        GroupsTitle(groups_, decision_, evidence_), which);
    for (int step = 0; step <= kLegendSteps; ++step) {
      const double root = static_cast<double>(step) / kLegendSteps;
      absl::StrAppendFormat(&text_, "<TD WIDTH=\"60\" BGCOLOR=\"%s\">%s</TD>", FillOf(root * root),
                            step == 0 ? "0" : FormatSeconds(root * root * dearest_));
    }
    text_ +=
        "</TR></TABLE></TD></TR>\n    <TR><TD><FONT POINT-SIZE=\"10\">edge N: what cutting it "
        "changes of the program's time (~ expected, else compiled); dashed: cut, what joining it "
        "changes; grey: between "
        "kernels; dotted: in no kernel</FONT></TD></TR></TABLE>>;\n";
  }

  void AddGroup(size_t g) {
    if (!is_shown_[g]) return;
    const FusionScorer::Group& group = groups_[g];
    absl::StrAppendFormat(
        &text_,
        "  subgraph cluster_%d {\n    label=\"%s (%.1f %%)\"; labeljust=l; fontsize=12; "
        "style=filled; fillcolor=\"%s\";\n",
        g, FormatSeconds(group.seconds), total_ > 0 ? 100 * group.seconds / total_ : 0.0,
        FillOf(dearest_ > 0 ? group.seconds / dearest_ : 0));
    bool empty = true;
    for (int32_t node : group.nodes) {
      if (HomeOf(node) != g) continue;
      AddNode(node, "    ", "");
      empty = false;
    }
    // Graphviz leaves out what holds no node.
    if (empty) {
      absl::StrAppendFormat(&text_, "    k%d [label=\"%s\"];\n", g,
                            group.nodes.empty() ? "the compiler's own" : "computed again");
    }
    text_ += "  }\n";
  }

  void AddNode(int32_t node, const char* indent, const char* attributes) {
    const HloInstruction& op = *graph_.nodes()[static_cast<size_t>(node)].instruction;
    const size_t copies = groups_of_[static_cast<size_t>(node)].size();
    absl::StrAppendFormat(&text_, "%sn%d [label=\"%s\\n%s%s\"%s];\n", indent, node,
                          Quoted(Shortened(std::string(op.name()))),
                          Quoted(Shortened(op.shape().ToString(false))),
                          copies > 1 ? absl::StrCat("\\nin ", copies, " groups") : "", attributes);
  }

  // What no group computes, at the ends of edges: folded away by the compiler.
  void AddNodesOutside() {
    std::vector<int32_t> outside;
    for (const FusionEdge& edge : graph_.edges()) {
      for (int32_t node : {edge.producer, edge.consumer}) {
        if (groups_of_[static_cast<size_t>(node)].empty()) outside.push_back(node);
      }
    }
    std::sort(outside.begin(), outside.end());
    outside.erase(std::unique(outside.begin(), outside.end()), outside.end());
    for (int32_t node : outside) AddNode(node, "  ", ", style=dotted");
  }

  // The group that a node stands in: the first of those that compute it and are shown; else
  // groups_.size().
  size_t HomeOf(int32_t node) const {
    for (size_t g : groups_of_[static_cast<size_t>(node)]) {
      if (is_shown_[g]) return g;
    }
    return groups_.size();
  }

  bool IsDrawn(int32_t node) const {
    const bool outside = groups_of_[static_cast<size_t>(node)].empty();
    return outside ? shown_ == groups_.size() : HomeOf(node) < groups_.size();
  }

  bool InOneGroup(const FusionEdge& edge) const {
    const std::vector<size_t>& a = groups_of_[static_cast<size_t>(edge.producer)];
    const std::vector<size_t>& b = groups_of_[static_cast<size_t>(edge.consumer)];
    return std::any_of(a.begin(), a.end(), [&b](size_t group) {
      return std::find(b.begin(), b.end(), group) != b.end();
    });
  }

  // What one kernel in the place of the two that the edge joins would change.
  std::string MergeTooltip(int32_t edge) const {
    const FusionEdge& ends = graph_.edges()[static_cast<size_t>(edge)];
    const std::vector<size_t>& from = groups_of_[static_cast<size_t>(ends.producer)];
    const std::vector<size_t>& to = groups_of_[static_cast<size_t>(ends.consumer)];
    const auto executions = [this](int32_t node) {
      return graph_.nodes()[static_cast<size_t>(node)].executions;
    };
    if (from.size() != 1 || to.size() != 1 ||
        executions(ends.producer) != executions(ends.consumer)) {
      return "";
    }
    return absl::StrFormat(", edgetooltip=\"merge, %s: %s\"", Quoted(EdgeName(graph_, edge)),
                           Quoted(MergeEffects(scorer_, decision_, groups_[from.front()],
                                               groups_[to.front()], evidence_)));
  }

  // By the static schedule, if the cut was compiled, else as expected.
  std::string EffectLabel(int32_t edge) const {
    const std::optional<FusionTimes> compiled = CompiledEffect(decision_, edge, evidence_);
    return compiled.has_value()
               ? FormatChange(compiled->schedule)
               : absl::StrCat("~", FormatChange(FusionEffectOf(times_, decision_, edge)));
  }

  void AddEdge(int32_t edge) {
    const FusionEdge& ends = graph_.edges()[static_cast<size_t>(edge)];
    if (!IsDrawn(ends.producer) || !IsDrawn(ends.consumer)) return;
    const bool cut = std::binary_search(decision_.cuts.begin(), decision_.cuts.end(), edge);
    absl::StrAppendFormat(&text_, "  n%d -> n%d [", ends.producer, ends.consumer);
    if (!cut && !InOneGroup(ends)) {
      absl::StrAppendFormat(&text_, "label=\" %d\", color=grey50, fontcolor=grey50%s];\n", edge,
                            MergeTooltip(edge));
      return;
    }
    absl::StrAppendFormat(&text_, "label=\" %d: %s\"%s, edgetooltip=\"%s %d, %s: %s\"];\n", edge,
                          EffectLabel(edge), cut ? ", style=dashed" : "", cut ? "join" : "cut",
                          edge, Quoted(EdgeName(graph_, edge)),
                          Quoted(FusionEffects(scorer_, decision_, edge, evidence_)));
  }

  const FusionGraph& graph_;
  const FusionScorer& scorer_;
  const FusionScorer& times_;
  const FusionDecision& decision_;
  const FusionEvidence& evidence_;
  const std::vector<FusionScorer::Group> groups_;
  std::vector<std::vector<size_t>> groups_of_;  // by node, ascending
  std::vector<bool> is_shown_;                  // by group
  size_t shown_ = 0;
  double dearest_ = 0;
  double total_ = 0;
  std::string text_;
};

}  // namespace

std::string FusionGroupsDot(const FusionGraph& graph, const FusionScorer& scorer,
                            const FusionDecision& decision, const std::string& device,
                            int64_t limit, const FusionEvidence& evidence) {
  return Picture(graph, scorer, decision, limit, evidence).Draw(device);
}

}  // namespace autotune
