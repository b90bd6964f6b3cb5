#ifndef AUTOTUNE_COSTMODEL_NETWORK_MODULE_H_
#define AUTOTUNE_COSTMODEL_NETWORK_MODULE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "costmodel/network.h"

namespace autotune {

// The path of libautotune_torch.so: the environment variable AUTOTUNE_TORCH_MODULE, or
// ../lib/autotune beside the program's folder. NotFound, with what to do, if it is not there. Loads
// nothing.
absl::StatusOr<std::string> FindNetworkModule();

// A new network. The first call loads the module, and LibTorch with it (about half a second); it
// stays loaded. Unavailable if the module is missing or cannot be loaded, InvalidArgument if the
// options make no network. Thread-safe.
absl::StatusOr<std::unique_ptr<Network>> CreateNetwork(const NetworkOptions& options);

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_NETWORK_MODULE_H_
