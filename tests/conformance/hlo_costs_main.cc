// Prints the costs of HLO texts, for differential_costs.py: for each file one line with its FLOPs,
// transcendentals, bytes accessed and number of unknown operations, and the verifier's first error.

#include <cinttypes>
#include <cstdio>

#include "hlo/cost_analysis.h"
#include "hlo/read_module.h"
#include "hlo/verifier.h"

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const auto module = autotune::ReadModuleFile(argv[i]);
    if (!module.ok()) {
      std::printf("error %s\n", std::string(module.status().message()).c_str());
      continue;
    }
    const autotune::Cost cost = autotune::CostAnalysis(*module->module).total();
    const auto errors = autotune::VerifyModule(*module->module, 1);
    std::printf("%.17g %.17g %.17g %" PRId64 " %s\n", cost.flops, cost.transcendentals,
                cost.bytes_accessed, cost.unknown,
                errors.empty() ? "" : errors[0].ToString().c_str());
  }
  return 0;
}
