#ifndef AUTOTUNE_TUNER_INPUT_FILES_H_
#define AUTOTUNE_TUNER_INPUT_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hardware/recording.h"
#include "hlo/module.h"
#include "hlo/read_module.h"

namespace autotune {

// What commands read, with errors that say what a file is when it is not what it should be. A file
// is told by its content, never by its name. Thread-safe.

// The name of an input in messages: "<stdin>" for "-".
std::string InputName(const std::string& path);

// True for a recording, also one that is damaged or cut off behind its beginning.
bool IsRecordingContent(absl::string_view content);

// Reads a module as ReadModule does and verifies it. Errors of either kind name the file and, for
// HLO text, line and column, with the line and a caret below; a binary file that ends too early is
// said to. StableHLO is imported through a PJRT plugin (hardware/stablehlo_import.h); where there
// is none, the error says so and how to get HLO from JAX, TensorFlow and PyTorch.
absl::StatusOr<ReadModuleResult> ReadVerifiedModule(std::string content, const std::string& name,
                                                    const ReadOptions& options = {});

// The same, but what the verifier says goes to *verified: for commands that do not rely on it.
absl::StatusOr<ReadModuleResult> ReadInputModule(std::string content, const std::string& name,
                                                 const ReadOptions& options,
                                                 absl::Status* verified);

// Recording::Load for an option that wants a recording: says so if the file is a program. The error
// carries the exit code for bad input.
absl::StatusOr<Recording> LoadRecording(const std::string& path);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_INPUT_FILES_H_
