#ifndef AUTOTUNE_TUNER_BACKEND_CHOICE_PJRT_H_
#define AUTOTUNE_TUNER_BACKEND_CHOICE_PJRT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "hardware/pjrt_backend.h"
#include "tuner/kernel_space.h"
#include "tuner/program.h"

namespace autotune {

// A device behind a PJRT plugin, and the configurations that are searched on it.
struct ChosenDevice {
  std::unique_ptr<PjrtBackend> backend;
  std::function<KernelSpace(const Kernel&)> space_of;
  std::string space;  // "tile" or "fusion"
};

// Opens the device and finds the program's kernels with it. On a TPU that takes one compilation of
// a program before optimisation. Elsewhere tiles mean nothing: there the whole program is the one
// thing that is measured, as it is and with cuts (see SpaceOfCuts). Errors carry their exit code.
absl::StatusOr<ChosenDevice> ChooseDevice(const PjrtBackendOptions& options, Program& program);

// The configurations of a whole program on a device without tiles: no cut, which is the default,
// every fusible edge cut, and each of the first edges alone.
KernelSpace SpaceOfCuts(const Kernel& program);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_BACKEND_CHOICE_PJRT_H_
