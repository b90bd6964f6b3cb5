#include "hlo/fusion_decision.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace autotune {

std::string FusionDecision::Key() const { return absl::StrCat("f=", absl::StrJoin(cuts, ",")); }

}  // namespace autotune
