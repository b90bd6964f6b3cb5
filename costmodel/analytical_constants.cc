#include "costmodel/analytical_constants.h"

namespace autotune {

const std::vector<NamedConstant>& AnalyticalConstantList() {
  using C = AnalyticalConstants;
  static const auto* const list = new std::vector<NamedConstant>{
      {"bandwidth_share", &C::bandwidth_share},
      {"transfer_latency_seconds", &C::transfer_latency_seconds},
      {"run_seconds", &C::run_seconds},
      {"stationary_row_cycles", &C::stationary_row_cycles},
      {"pass_cycles", &C::pass_cycles},
      {"vector_cycles", &C::vector_cycles},
      {"accumulate_cycles", &C::accumulate_cycles},
      {"iteration_seconds", &C::iteration_seconds},
      {"ragged_seconds", &C::ragged_seconds},
      {"launch_seconds", &C::launch_seconds},
  };
  return *list;
}

}  // namespace autotune
