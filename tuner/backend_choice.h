#ifndef AUTOTUNE_TUNER_BACKEND_CHOICE_H_
#define AUTOTUNE_TUNER_BACKEND_CHOICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "hardware/measurement_backend.h"
#include "hardware/recording.h"
#include "tuner/kernel_space.h"
#include "tuner/program.h"
#include "tuner/tune_options.h"

namespace autotune {

// A backend that is ready, and why it is this one.
struct ChosenBackend {
  std::unique_ptr<MeasurementBackend> backend;
  std::string reason;
  // What is searched: "tile" or "layout".
  std::string space;
  // What beside device, backend and versions makes its results comparable: the content of the
  // recordings for a replay; flags for a compiler. See MeasurementContext::flags.
  std::string flags;
  // What it replays, owned by the backend; null if it measures.
  const Recording* known = nullptr;
  // The configurations in which a kernel is searched with this backend.
  std::function<KernelSpace(const Kernel&)> space_of;
};

// The backend that the options ask for, or else: (1) a recording means replay; (2) a TPU that the
// PJRT plugin finds; (3) the ahead-of-time compiler, if libtpu is installed; (4) an error that says
// how to get each of them. Errors carry their exit code. A program that is a recording replays
// itself too.
absl::StatusOr<ChosenBackend> ChooseBackend(const TuneOptions& options, Program& program);

// Tells recordings apart by what they hold (kernels, configurations, times, failures): results that
// were replayed from one must not answer for another in a record store that both share.
uint64_t ContentFingerprint(const Recording& recording);

// Fails if nothing of the program is in the recording: says which kernels were looked for and what
// the recording holds.
absl::Status RequireRecordedKernels(const Program& program, const Recording& recording,
                                    const std::string& recording_name);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_BACKEND_CHOICE_H_
