#include "tuner/command_status.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace autotune {
namespace {

constexpr char kPayload[] = "autotune/exit-code";

}  // namespace

absl::Status WithExitCode(ExitCode code, const absl::Status& status) {
  absl::Status marked = status;
  if (!marked.ok()) marked.SetPayload(kPayload, absl::Cord(absl::StrCat(static_cast<int>(code))));
  return marked;
}

absl::Status WrongUse(absl::string_view message) {
  return WithExitCode(kExitWrongUse, absl::InvalidArgumentError(message));
}

absl::Status BadInput(absl::string_view message) {
  return WithExitCode(kExitBadInput, absl::InvalidArgumentError(message));
}

absl::Status WithInputExitCode(const absl::Status& status) {
  if (status.GetPayload(kPayload)) return status;
  const bool broken =
      absl::IsUnavailable(status) || absl::IsResourceExhausted(status) || absl::IsInternal(status);
  return WithExitCode(broken ? kExitBroken : kExitBadInput, status);
}

ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitDone;
  const auto payload = status.GetPayload(kPayload);
  int code = kExitBroken;
  if (payload && !absl::SimpleAtoi(std::string(*payload), &code)) code = kExitBroken;
  return static_cast<ExitCode>(code);
}

}  // namespace autotune
