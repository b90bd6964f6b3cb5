#include "tuner/select_best.h"

namespace autotune {

std::optional<size_t> SelectBest(absl::Span<const Measurement> results,
                                 std::optional<size_t> preferred, double tie_window) {
  std::optional<size_t> best;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].ok()) continue;
    if (!best || results[i].MedianSeconds() < results[*best].MedianSeconds()) best = i;
  }
  if (!best || !preferred || *preferred >= results.size() || !results[*preferred].ok()) return best;
  const double limit = results[*best].MedianSeconds() * (1 + tie_window);
  return results[*preferred].MedianSeconds() <= limit ? preferred : best;
}

}  // namespace autotune
