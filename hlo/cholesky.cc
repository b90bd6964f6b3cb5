#include "hlo/cholesky.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace autotune {

bool SolveCholesky(absl::Span<double> a, absl::Span<double> b, double least_pivot) {
  const size_t n = b.size();
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < i; ++j) {
      double sum = a[i * n + j];
      for (size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = sum / a[j * n + j];
    }
    double pivot = a[i * n + i];
    for (size_t k = 0; k < i; ++k) pivot -= a[i * n + k] * a[i * n + k];
    pivot = std::max(pivot, least_pivot);
    if (!(pivot > 0)) return false;  // nor a number
    a[i * n + i] = std::sqrt(pivot);
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
  return true;
}

}  // namespace autotune
