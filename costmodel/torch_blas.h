// The BLAS below LibTorch, made fit for callers that multiply matrices on several threads.

#ifndef AUTOTUNE_COSTMODEL_TORCH_BLAS_H_
#define AUTOTUNE_COSTMODEL_TORCH_BLAS_H_

#include <mutex>

namespace autotune {

// Has LibTorch and its BLAS use one thread per call: callers run several calls at once, and results
// do not depend on how many.
void UseOneThreadPerCall();

// The product of matrices of single precision, by the interface of the reference BLAS (columns
// first): c [m, n] = alpha * a [m, k] * b [k, n] + beta * c.
using SgemmFunction = void(const char* transpose_a, const char* transpose_b, const int* m,
                           const int* n, const int* k, const float* alpha, const float* a,
                           const int* lda, const float* b, const int* ldb, const float* beta,
                           float* c, const int* ldc);

// That of the BLAS below LibTorch; null where it shows none with that interface.
SgemmFunction* FindSgemm();

// Held around everything that multiplies matrices. Free where the BLAS may be called from several
// threads at once; else one caller at a time has it. OpenBLAS built without threads (Debian's
// libopenblas0-serial) shares its packing buffers between threads without a lock, and gave wrong
// products before this.
class BlasGuard {
 public:
  BlasGuard();

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_TORCH_BLAS_H_
