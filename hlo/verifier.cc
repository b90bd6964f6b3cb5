#include "hlo/verifier.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "hlo/verifier_rules.h"

namespace autotune {
namespace {

// Collects errors up to a limit.
class ErrorList {
 public:
  explicit ErrorList(size_t limit) : limit_(limit) {}

  bool full() const { return errors_.size() >= limit_; }

  void Add(const absl::Status& status) { Add(status, "", "", 0); }
  void Add(const absl::Status& status, const HloComputation& computation) {
    Add(status, computation.name(), "", computation.line());
  }
  void Add(const absl::Status& status, const HloInstruction& instruction) {
    Add(status, instruction.parent().name(), instruction.name(), instruction.line());
  }

  std::vector<VerifierError> Release() { return std::move(errors_); }

 private:
  void Add(const absl::Status& status, absl::string_view computation, absl::string_view instruction,
           int32_t line) {
    if (status.ok() || full()) return;
    errors_.push_back(
        {std::string(computation), std::string(instruction), line, std::string(status.message())});
  }

  size_t limit_;
  std::vector<VerifierError> errors_;
};

absl::Status CheckOperandCount(const HloInstruction& instruction) {
  const std::optional<int> count = HloOpcodeOperandCount(instruction.opcode());
  if (!count.has_value() || *count == instruction.operand_count()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(instruction.opcode_name(), " takes ", *count,
                                                 " operand(s), got ", instruction.operand_count()));
}

absl::Status CheckInstruction(const HloInstruction& instruction) {
  if (absl::Status status = CheckOperandCount(instruction); !status.ok()) return status;
  if (absl::Status status = verifier_rules::CheckCalls(instruction); !status.ok()) return status;
  if (absl::Status status = verifier_rules::CheckThreads(instruction); !status.ok()) return status;
  if (absl::Status status = verifier_rules::CheckPairs(instruction); !status.ok()) return status;
  for (const auto rule : {verifier_rules::CheckAsync, verifier_rules::CheckSharding,
                          verifier_rules::CheckOutputAliasing, verifier_rules::CheckBuffers,
                          verifier_rules::CheckOrigin}) {
    if (absl::Status status = rule(instruction); !status.ok()) return status;
  }
  if (IsCollective(instruction.opcode())) return verifier_rules::CheckCollective(instruction);
  return verifier_rules::CheckShape(instruction);
}

void CheckComputation(const HloComputation& computation, ErrorList* errors) {
  absl::flat_hash_set<absl::string_view> names;
  names.reserve(computation.instructions().size());
  for (const HloInstruction* instruction : computation.instructions()) {
    if (errors->full()) return;
    if (!names.insert(instruction->name()).second) {
      errors->Add(absl::InvalidArgumentError("the name occurs twice in its computation"),
                  *instruction);
    }
    errors->Add(CheckInstruction(*instruction), *instruction);
  }
}

}  // namespace

std::string VerifierError::ToString() const {
  std::string text;
  if (line > 0) absl::StrAppend(&text, "line ", line, ": ");
  if (!instruction.empty()) absl::StrAppend(&text, "'", instruction, "' in ");
  if (!computation.empty()) absl::StrAppend(&text, "'", computation, "': ");
  return absl::StrCat(text, message);
}

std::vector<VerifierError> VerifyModule(const HloModule& module, size_t max_errors) {
  ErrorList errors(max_errors);
  absl::flat_hash_set<absl::string_view> names;
  for (const HloComputation* computation : module.computations()) {
    if (!names.insert(computation->name()).second) {
      errors.Add(absl::InvalidArgumentError("the computation's name occurs twice"), *computation);
    }
    CheckComputation(*computation, &errors);
  }
  errors.Add(verifier_rules::CheckEntryLayout(module));
  errors.Add(verifier_rules::CheckAliasing(module));
  errors.Add(verifier_rules::CheckSchedule(module));
  errors.Add(verifier_rules::CheckChannels(module));
  return errors.Release();
}

absl::Status VerifyStatus(const HloModule& module, absl::string_view file_name) {
  const std::vector<VerifierError> errors = VerifyModule(module, 1);
  if (errors.empty()) return absl::OkStatus();
  const VerifierError& error = errors[0];
  if (file_name.empty()) return absl::InvalidArgumentError(error.ToString());
  VerifierError without_line = error;
  without_line.line = 0;
  const std::string position =
      error.line > 0 ? absl::StrCat(file_name, ":", error.line) : std::string(file_name);
  return absl::InvalidArgumentError(absl::StrCat(position, ": ", without_line.ToString()));
}

}  // namespace autotune
