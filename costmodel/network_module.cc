#include "costmodel/network_module.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace autotune {
namespace {

constexpr char kModuleName[] = "libautotune_torch.so";

// A score must not depend on what else is scored. OpenBLAS's kernels for processors with AVX2 and
// without AVX-512 (Haswell, Zen) round a row of a product by its place: with 0.3.21 rows 6 to 11 of
// every twelve differ in the last bit from the others. Those for Sandy Bridge do not. OpenBLAS
// reads the variable when it is loaded, which the module does; whoever has set it knows better.
void ChooseBlasKernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && !__builtin_cpu_supports("avx512f")) {
    setenv("OPENBLAS_CORETYPE", "Sandybridge", /*overwrite=*/0);
  }
#endif
}

absl::StatusOr<CreateNetworkFunction> LoadModule() {
  absl::StatusOr<std::string> path = FindNetworkModule();
  if (!path.ok()) return path.status();
  ChooseBlasKernels();
  void* module = dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    return absl::UnavailableError(absl::StrCat("the module of learned models cannot be loaded: ",
                                               dlerror(), "; the analytical model needs none"));
  }
  void* symbol = dlsym(module, kCreateNetworkSymbol);
  if (symbol == nullptr) {
    return absl::UnavailableError(
        absl::StrCat(*path, " is no module of autotune: ", kCreateNetworkSymbol, " is missing"));
  }
  return reinterpret_cast<CreateNetworkFunction>(symbol);
}

}  // namespace

absl::StatusOr<std::string> FindNetworkModule() {
  const char* given = std::getenv("AUTOTUNE_TORCH_MODULE");
  std::error_code error;
  std::filesystem::path path;
  if (given != nullptr && *given != '\0') {
    path = given;
  } else {
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    path = program.parent_path().parent_path() / "lib" / "autotune" / kModuleName;
  }
  if (std::filesystem::exists(path, error)) return path.string();
  return absl::NotFoundError(
      absl::StrCat("learned models need ", path.string(),
                   ", which is not there: run scripts/setup torch and build again (./autotune "
                   "--with torch does both)"));
}

absl::StatusOr<std::unique_ptr<Network>> CreateNetwork(const NetworkOptions& options) {
  static const absl::StatusOr<CreateNetworkFunction>* const create =
      new absl::StatusOr<CreateNetworkFunction>(LoadModule());
  if (!create->ok()) return absl::UnavailableError(create->status().message());
  if (options.members < 1 || options.hidden < 4 || options.hidden % 4 != 0 || options.layers < 0 ||
      options.opcodes < 1 || options.node_features < 1 || options.kernel_features < 0 ||
      options.config_features < 1 || options.opcode_embedding < 1 || options.kernel_embedding < 1 ||
      !(options.residual_cap > 0) || !(options.config_share > 0) || options.config_share > 1) {
    return absl::InvalidArgumentError(
        "a network needs members, inputs or a share of them, and a hidden size that 4 divides");
  }
  std::string error;
  std::unique_ptr<Network> network((**create)(options, &error));
  if (network == nullptr) return absl::InvalidArgumentError(error);
  return network;
}

}  // namespace autotune
