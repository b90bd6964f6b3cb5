#include "tuner/compare_methods.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "search/builtin.h"

namespace autotune {
namespace {

absl::StatusOr<SearchMethod> ParseSearchMethod(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('+', 1));
  SearchMethod method = {std::string(absl::StripAsciiWhitespace(parts.first)),
                         std::string(absl::StripAsciiWhitespace(parts.second))};
  const bool has_plus = absl::StrContains(text, "+");
  if (has_plus && method.model.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no model after '+' in the method '", text, "'"));
  }
  if (method.IsDefault()) {
    if (!has_plus) return method;
    return absl::InvalidArgumentError("the method 'default' takes no model");
  }
  if (const StrategyInfo* strategy = FindStrategy(method.strategy)) {
    if (!strategy->needs_scorer || !method.model.empty()) return method;
    return absl::InvalidArgumentError(absl::StrCat("the strategy '", strategy->name,
                                                   "' needs a model, for instance ", strategy->name,
                                                   "+analytical"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "no search strategy is called '", method.strategy, "'; known: default",
      absl::StrJoin(BuiltinStrategies(), "", [](std::string* out, const StrategyInfo& strategy) {
        absl::StrAppend(out, ", ", strategy.name);
      })));
}

}  // namespace

std::string SearchMethod::Name() const {
  return model.empty() ? strategy : absl::StrCat(strategy, "+", model);
}

absl::StatusOr<std::vector<SearchMethod>> ParseSearchMethods(absl::string_view list) {
  std::vector<SearchMethod> methods;
  for (absl::string_view text : absl::StrSplit(list, ',')) {
    text = absl::StripAsciiWhitespace(text);
    if (text.empty()) continue;
    absl::StatusOr<SearchMethod> method = ParseSearchMethod(text);
    if (!method.ok()) return method.status();
    if (std::find(methods.begin(), methods.end(), *method) != methods.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the method '", method->Name(), "' is named twice"));
    }
    methods.push_back(*std::move(method));
  }
  if (methods.empty()) return absl::InvalidArgumentError("no method to compare is named");
  return methods;
}

}  // namespace autotune
