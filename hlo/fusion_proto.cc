#include "hlo/fusion_proto.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace autotune {
namespace {

constexpr int64_t kPlainLimit = int64_t{1} << 32;

// The name without a number behind its last dot.
absl::string_view StemOf(absl::string_view name) {
  const size_t dot = name.rfind('.');
  int64_t number = 0;
  if (dot == absl::string_view::npos || dot == 0) return name;
  return absl::SimpleAtoi(name.substr(dot + 1), &number) ? name.substr(0, dot) : name;
}

}  // namespace

FreshNames::FreshNames(const proto::HloModuleProto& module) {
  for (const proto::HloComputationProto& computation : module.computations()) {
    names_.insert(computation.name());
    for (const proto::HloInstructionProto& instruction : computation.instructions()) {
      names_.insert(instruction.name());
      if (instruction.id() < kPlainLimit) {
        next_plain_ = std::max(next_plain_, instruction.id() + 1);
      } else {
        int64_t& next = next_local_[computation.id()];
        next = std::max(next, instruction.id() + 1);
      }
    }
  }
}

std::string FreshNames::Name(absl::string_view stem) {
  if (names_.insert(std::string(stem)).second) return std::string(stem);
  stem = StemOf(stem);
  int64_t& suffix = next_suffix_[stem];
  for (;;) {
    std::string name = absl::StrCat(stem, ".", ++suffix);
    if (names_.insert(name).second) return name;
  }
}

int64_t FreshNames::Id(int64_t computation_id) {
  const auto local = next_local_.find(computation_id);
  return local == next_local_.end() ? next_plain_++ : local->second++;
}

}  // namespace autotune
