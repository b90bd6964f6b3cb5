#include <optional>

#include "nlohmann/json.hpp"
#include "tuner/html_charts.h"

namespace autotune {

std::optional<nlohmann::json> RooflineChart(const TuningReport& /*report*/) { return std::nullopt; }

}  // namespace autotune
