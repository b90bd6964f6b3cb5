#ifndef AUTOTUNE_HLO_CHOLESKY_H_
#define AUTOTUNE_HLO_CHOLESKY_H_

#include "absl/types/span.h"

namespace autotune {

// Solves A x = b for a symmetric positive definite A of n rows (Golub and Van Loan, "Matrix
// Computations", 4th edition, section 4.2), for the least squares of models. `a` is A row by row,
// of which only the lower triangle is read; Cholesky's factor takes its place. `b` becomes x. A
// pivot below `least_pivot` counts as that, for what is semidefinite but for rounding. False, with
// `b` as it was, if a pivot is not positive. Equal input gives equal bits. REQUIRES: `a` has n^2
// elements.
//
// It stands in this folder because `search` and `costmodel`, which use it, may include it but not
// each other.
bool SolveCholesky(absl::Span<double> a, absl::Span<double> b, double least_pivot = 0);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_CHOLESKY_H_
