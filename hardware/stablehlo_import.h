#ifndef AUTOTUNE_HARDWARE_STABLEHLO_IMPORT_H_
#define AUTOTUNE_HARDWARE_STABLEHLO_IMPORT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hlo/module.h"

namespace autotune {

// What turns StableHLO into HLO: the compiler behind a PJRT plugin.
struct StableHloImporter {
  std::string plugin;  // path of the plugin
  std::string worker;  // path of autotune-worker
  // What to compile for, by the plugin's name: "v5e:2x2"; empty for the device behind the plugin.
  std::string topology;
  absl::Duration timeout = absl::Minutes(5);
};

// The importers of this machine, best first: libtpu, which needs no TPU for this, and a CPU plugin.
// NotFound, saying how to get one, or Unimplemented where this program was built without PJRT.
absl::StatusOr<std::vector<StableHloImporter>> FindStableHloImporters();

// The program before optimisation, constants in full, for StableHLO as text or bytecode. It is
// compiled in a process of its own, and what the compiler writes of its input is read, so that an
// error later in the compilation does no harm. InvalidArgument with the compiler's message where it
// does not read the code; DeadlineExceeded, ResourceExhausted or Unavailable where the process came
// to its end without an answer. Thread-safe.
absl::StatusOr<std::unique_ptr<HloModule>> ImportStableHlo(const std::string& code,
                                                           const StableHloImporter& importer);

// The same with the first importer of this machine whose process comes up.
absl::StatusOr<std::unique_ptr<HloModule>> ImportStableHlo(const std::string& code);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_STABLEHLO_IMPORT_H_
