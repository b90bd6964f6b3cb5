#ifndef AUTOTUNE_HLO_DOT_CONVOLUTION_H_
#define AUTOTUNE_HLO_DOT_CONVOLUTION_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hlo/module.h"

namespace autotune {

// Turns the dot named `name` of a program before optimisation into the convolution that the TPU
// compiler would make of it; name, result and metadata stay. The compiler obeys a `window_config`
// on a convolution, but drops one on a dot.
//
// With one contracted dimension, at least one free dimension of the first operand and exactly one
// of the second: the last free dimension of the first operand is the convolution's batch, its
// others are spatial with a window of 1 (the second operand gets dimensions of 1 by a reshape), and
// a batch dimension of N is spatial with a window of N, a base dilation of N and a stride of N - 1,
// so that window position j meets input j and no other.
//
// NotFound if there is no such dot; Unimplemented, saying why, for any other form.
absl::Status MakeDotConvolution(absl::string_view name, proto::HloModuleProto* program);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_DOT_CONVOLUTION_H_
