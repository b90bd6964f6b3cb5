#include "costmodel/torch_blas.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <mutex>

namespace autotune {
namespace {

// A function of the BLAS, or null where it has none of this name.
template <typename Function>
Function* BlasFunction(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// openblas_get_parallel: 0 for a build without threads.
bool BlasNeedsLock() {
  auto* parallel = BlasFunction<int()>("openblas_get_parallel");
  return parallel != nullptr && parallel() == 0;
}

std::mutex& BlasMutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

void UseOneThreadPerCall() {
  at::set_num_threads(1);
  if (auto* set_threads = BlasFunction<void(int)>("openblas_set_num_threads")) set_threads(1);
}

// LibTorch is no use without it, and OpenBLAS is the only BLAS that is known to count in int.
SgemmFunction* FindSgemm() {
  if (BlasFunction<int()>("openblas_get_parallel") == nullptr) return nullptr;
  return BlasFunction<SgemmFunction>("sgemm_");
}

BlasGuard::BlasGuard() {
  static const bool needs_lock = BlasNeedsLock();
  if (needs_lock) lock_ = std::unique_lock<std::mutex>(BlasMutex());
}

}  // namespace autotune
