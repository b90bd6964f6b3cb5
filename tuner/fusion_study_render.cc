#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "tuner/fusion_render.h"
#include "tuner/fusion_study.h"

namespace autotune {
namespace {

using nlohmann::json;

// Gains below this are none: estimates that differ by less are equal.
constexpr double kEqual = 1e-3;

json ChangeJson(const FusionTimes& change) {
  return {
      {"schedule", change.schedule}, {"bundles", change.bundles}, {"compiler", change.compiler}};
}

// One line of cells of every method and budget: what the primary estimate says, and in brackets
// what the other two say of the same program.
std::string ProgramRow(const FusionStudy& study) {
  std::string row =
      absl::StrFormat("| %s | %d (%d) | %s |", study.origin.program, study.configurations,
                      study.groupings, FormatChange(study.best.schedule));
  for (const FusionStudyRow& method : study.rows) {
    if (method.method == "default") continue;
    for (const FusionReached& reached : method.reached) {
      absl::StrAppend(&row, " ", FormatChange(reached.change.schedule));
      if (reached.change.schedule < 0) {
        absl::StrAppend(&row, " (", FormatChange(reached.change.bundles), ", ",
                        FormatChange(reached.change.compiler), reached.agree ? "" : ", unsettled",
                        ")");
      }
      row += " |";
    }
  }
  return row + "\n";
}

std::string Header(const FusionStudy& study) {
  std::string names = "| program | recorded (groupings) | best recorded |";
  std::string line = "|---|---|---|";
  for (const FusionStudyRow& method : study.rows) {
    if (method.method == "default") continue;
    for (const FusionReached& reached : method.reached) {
      absl::StrAppend(&names, " ", method.method, ", ", reached.budget, " |");
      line += "---|";
    }
  }
  return absl::StrCat(names, "\n", line, "\n");
}

// The median over programs of what each method reaches, as a change and as a share of the best
// recorded gain (of programs where something recorded gains).
std::string Summary(const std::vector<FusionStudy>& studies) {
  std::string text =
      "| method | budget | median change | median share of the best recorded gain |\n"
      "|---|---|---|---|\n";
  for (size_t m = 0; m < studies.front().rows.size(); ++m) {
    for (size_t b = 0; b < studies.front().rows[m].reached.size(); ++b) {
      std::vector<double> changes, shares;
      for (const FusionStudy& study : studies) {
        const FusionReached& reached = study.rows[m].reached[b];
        changes.push_back(reached.change.schedule);
        if (study.best.schedule < -kEqual) shares.push_back(reached.share);
      }
      absl::StrAppendFormat(
          &text, "| %s | %d | %s | %s |\n", studies.front().rows[m].method,
          studies.front().rows[m].reached[b].budget, FormatChange(MedianOf(changes)),
          shares.empty() ? "-" : absl::StrFormat("%.0f %%", MedianOf(shares) * 100));
    }
  }
  return text;
}

}  // namespace

std::string FusionStudiesText(const std::vector<FusionStudy>& studies) {
  if (studies.empty()) return "";
  std::string text =
      absl::StrCat("ESTIMATES for ", studies.front().origin.device,
                   ", replayed; change against the default by the static schedule with transfers,\n"
                   "in brackets by the bundles alone and by the compiler's own estimate of the "
                   "same program.\n\n",
                   Header(studies.front()));
  for (const FusionStudy& study : studies) text += ProgramRow(study);
  return absl::StrCat(text, "\n", Summary(studies));
}

json FusionStudiesJson(const std::vector<FusionStudy>& studies) {
  json programs = json::array();
  for (const FusionStudy& study : studies) {
    json methods = json::array();
    for (const FusionStudyRow& row : study.rows) {
      json budgets = json::array();
      for (const FusionReached& reached : row.reached) {
        budgets.push_back({{"budget", reached.budget},
                           {"change", ChangeJson(reached.change)},
                           {"worst", reached.worst},
                           {"best", reached.best},
                           {"agree", reached.agree},
                           {"share", reached.share},
                           {"compilations", reached.compilations}});
      }
      methods.push_back({{"method", row.method}, {"budgets", std::move(budgets)}});
    }
    programs.push_back({{"program", study.origin.program},
                        {"device", study.origin.device},
                        {"versions", study.origin.versions},
                        {"configurations", study.configurations},
                        {"groupings", study.groupings},
                        {"fused_edges", study.fused_edges},
                        {"best_recorded", ChangeJson(study.best)},
                        {"methods", std::move(methods)}});
  }
  return {{"schema", "autotune.fusion-comparison/1"},
          {"time_source", "estimate"},
          {"programs", std::move(programs)}};
}

}  // namespace autotune
