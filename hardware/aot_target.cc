#include "hardware/aot_target.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace autotune {
namespace {

// HBM bandwidth: published per chip (cloud.google.com/tpu/docs, one page a generation), halved
// where a chip has two TensorCores that run programs of their own (v2, v3, v7x). Clocks: v2 and v3
// from Jouppi et al., "A Domain Specific Supercomputer for Training Deep Neural Networks" (CACM
// 2020); v4 from Jouppi et al., "TPU v4" (ISCA 2023); for the others the published peak of bf16
// operations a second over those of a cycle of the matrix units (v5e 4 of 128 x 128, v5p 8, v6e 4
// of 256 x 256 in two thirds of ... cores as given in jax/_src/pallas/mosaic/tpu_info.py).
constexpr AotTarget kTargets[] = {
    {"tpu-v2", "v2:2x2", 700e6, 350e9},        {"tpu-v3", "v3:2x2", 940e6, 450e9},
    {"tpu-v4", "v4:2x2x1", 1050e6, 1228e9},    {"tpu-v5e", "v5e:2x2", 1500e6, 819e9},
    {"tpu-v5p", "v5p:2x2x1", 1750e6, 2765e9},  {"tpu-v6e", "v6e:2x2", 1750e6, 1640e9},
    {"tpu-v7x", "tpu7x:2x2x1", 2200e6, 3690e9}};

}  // namespace

absl::Span<const AotTarget> AotTargets() { return kTargets; }

absl::StatusOr<AotTarget> FindAotTarget(absl::string_view name) {
  const std::string wanted = absl::StrCat("tpu-", absl::StripPrefix(name, "tpu-"));
  for (const AotTarget& target : kTargets) {
    if (target.device == wanted) return target;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown target '", name,
      "'; known: ", absl::StrJoin(kTargets, ", ", [](std::string* out, const AotTarget& t) {
        absl::StrAppend(out, t.device);
      })));
}

}  // namespace autotune
