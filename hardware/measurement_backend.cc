#include "hardware/measurement_backend.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace autotune {

absl::StatusOr<std::vector<Measurement>> MeasurementBackend::MeasureEach(
    absl::Span<const Candidate> candidates, ResultSink sink) {
  std::vector<Measurement> results;
  results.reserve(candidates.size());
  for (size_t i = 0; i < candidates.size(); ++i) {
    absl::StatusOr<std::vector<Measurement>> one = Measure(candidates.subspan(i, 1));
    if (!one.ok()) return one.status();
    if (one->size() != 1) {
      return absl::InternalError(absl::StrCat("the ", capabilities().name, " backend gave ",
                                              one->size(), " answers to one candidate"));
    }
    sink(i, one->front());
    results.push_back(std::move(one->front()));
  }
  return results;
}

}  // namespace autotune
