#ifndef AUTOTUNE_TESTS_HARDWARE_FUSION_CHAIN_H_
#define AUTOTUNE_TESTS_HARDWARE_FUSION_CHAIN_H_

namespace autotune {

// A program before optimisation whose operations form one chain: every edge may be fused or cut.
inline constexpr char kChain[] = R"(HloModule chain
ENTRY e {
  x = f32[1024,1024] parameter(0)
  a = f32[1024,1024] negate(x)
  b = f32[1024,1024] abs(a)
  c = f32[1024,1024] exponential(b)
  d = f32[1024,1024] tanh(c)
  ROOT f = f32[1024,1024] negate(d)
})";

}  // namespace autotune

#endif  // AUTOTUNE_TESTS_HARDWARE_FUSION_CHAIN_H_
