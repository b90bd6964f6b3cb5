#include "costmodel/torch_blas.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <mutex>

namespace autotune {
namespace {

// A function of OpenBLAS, or null where the BLAS is another.
template <typename Function>
Function* OpenBlasFunction(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// openblas_get_parallel: 0 for a build without threads.
bool BlasNeedsLock() {
  auto* parallel = OpenBlasFunction<int()>("openblas_get_parallel");
  return parallel != nullptr && parallel() == 0;
}

std::mutex& BlasMutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

void UseOneThreadPerCall() {
  at::set_num_threads(1);
  if (auto* set_threads = OpenBlasFunction<void(int)>("openblas_set_num_threads")) set_threads(1);
}

BlasGuard::BlasGuard() {
  static const bool needs_lock = BlasNeedsLock();
  if (needs_lock) lock_ = std::unique_lock<std::mutex>(BlasMutex());
}

}  // namespace autotune
