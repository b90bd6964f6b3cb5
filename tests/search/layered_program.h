#ifndef AUTOTUNE_TESTS_SEARCH_LAYERED_PROGRAM_H_
#define AUTOTUNE_TESTS_SEARCH_LAYERED_PROGRAM_H_

#include <string>

#include "absl/strings/str_cat.h"

namespace autotune::testing {

// HLO text of products with element-wise tails that branch and join again, `layers` times: eleven
// operations a layer.
inline std::string LayeredProgram(int layers) {
  std::string text =
      "HloModule m\n"
      "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }\n"
      "ENTRY e {\n  w = f32[256,256] parameter(0)\n  l0 = f32[256,256] parameter(1)\n"
      "  z = f32[] constant(0)\n";
  for (int i = 1; i <= layers; ++i) {
    const std::string n = absl::StrCat(i);
    absl::StrAppend(
        &text, "  d", n, " = f32[256,256] dot(l", i - 1,
        ", w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n  t", n,
        " = f32[256,256] tanh(d", n, ")\n  n", n, " = f32[256,256] negate(t", n, ")\n  x", n,
        " = f32[256,256] exponential(n", n, ")\n  m", n, " = f32[256,256] multiply(t", n, ", x", n,
        ")\n  a", n, " = f32[256,256] add(m", n, ", d", n, ")\n  r", n, " = f32[256] reduce(a", n,
        ", z), dimensions={1}, to_apply=sum\n  b", n, " = f32[256,256] broadcast(r", n,
        "), dimensions={0}\n  o", n, " = f32[256,256] subtract(a", n, ", b", n, ")\n  p", n,
        " = f32[256,256] maximum(o", n, ", t", n, ")\n  ", i == layers ? "ROOT " : "", "l", n,
        " = f32[256,256] add(p", n, ", l", i - 1, ")\n");
  }
  return text + "}\n";
}

}  // namespace autotune::testing

#endif  // AUTOTUNE_TESTS_SEARCH_LAYERED_PROGRAM_H_
