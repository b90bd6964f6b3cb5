#include "search/builtin.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "search/exhaustive_search.h"
#include "search/genetic_search.h"
#include "search/model_greedy.h"
#include "search/random_search.h"
#include "search/simulated_annealing.h"

namespace autotune {
namespace {

using Maker = std::unique_ptr<SearchStrategy> (*)(const SearchSpace* space,
                                                  const CandidateScorer* scorer, uint64_t seed);

struct Entry {
  StrategyInfo info;
  Maker make;
};

// A new strategy is added here.
constexpr Entry kEntries[] = {
    {{"annealing", "simulated annealing; with a model on its scores, else on measured times",
      false},
     [](const SearchSpace* space, const CandidateScorer* scorer,
        uint64_t seed) -> std::unique_ptr<SearchStrategy> {
       return std::make_unique<SimulatedAnnealing>(space, scorer, seed);
     }},
    {{"genetic", "a genetic algorithm; with a model on its scores, else on measured times", false},
     [](const SearchSpace* space, const CandidateScorer* scorer,
        uint64_t seed) -> std::unique_ptr<SearchStrategy> {
       return std::make_unique<GeneticSearch>(space, scorer, seed);
     }},
    {{"random", "draws without replacement", false},
     [](const SearchSpace* space, const CandidateScorer* /*scorer*/,
        uint64_t seed) -> std::unique_ptr<SearchStrategy> {
       return std::make_unique<RandomSearch>(space, seed);
     }},
    {{"exhaustive", "everything, in the order of the space", false},
     [](const SearchSpace* space, const CandidateScorer* /*scorer*/, uint64_t /*seed*/)
         -> std::unique_ptr<SearchStrategy> { return std::make_unique<ExhaustiveSearch>(space); }},
    {{"model-greedy", "in the order of the model's scores", true},
     [](const SearchSpace* space, const CandidateScorer* scorer,
        uint64_t seed) -> std::unique_ptr<SearchStrategy> {
       return std::make_unique<ModelGreedy>(space, scorer, seed);
     }},
};

std::string KnownNames() {
  return absl::StrJoin(kEntries, ", ", [](std::string* out, const Entry& entry) {
    absl::StrAppend(out, entry.info.name);
  });
}

}  // namespace

absl::Span<const StrategyInfo> BuiltinStrategies() {
  static const std::vector<StrategyInfo>& infos = *[] {
    auto* list = new std::vector<StrategyInfo>();
    for (const Entry& entry : kEntries) list->push_back(entry.info);
    return list;
  }();
  return infos;
}

const StrategyInfo* FindStrategy(absl::string_view name) {
  for (const StrategyInfo& info : BuiltinStrategies()) {
    if (name == info.name) return &info;
  }
  return nullptr;
}

absl::StatusOr<std::unique_ptr<SearchStrategy>> CreateStrategy(const std::string& name,
                                                               const SearchSpace* space,
                                                               const CandidateScorer* scorer,
                                                               uint64_t seed) {
  for (const Entry& entry : kEntries) {
    if (name != entry.info.name) continue;
    if (entry.info.needs_scorer && scorer == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "strategy ", name, " needs a cost model, for instance ", name, "+analytical"));
    }
    return entry.make(space, scorer, seed);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown strategy \"", name, "\"; known are ", KnownNames()));
}

}  // namespace autotune
