// Operations in several instructions: starts with their dones, asynchronous chains, threads.

#include <initializer_list>

#include "absl/algorithm/container.h"
#include "hlo/computation.h"
#include "hlo/shape_rules.h"
#include "hlo/verifier_rules.h"

namespace autotune::verifier_rules {
namespace {

using shape_rules::Invalid;
using Opcodes = std::initializer_list<HloOpcode>;

bool Holds(Opcodes opcodes, HloOpcode opcode) { return absl::c_linear_search(opcodes, opcode); }

// Exactly one user, and of one of these opcodes. What only orders instructions does not count.
absl::Status CheckOneUser(const HloInstruction& instruction, Opcodes wanted) {
  const HloInstruction* found = nullptr;
  int64_t users = 0;
  for (const HloInstruction* user : instruction.users()) {
    if (user->opcode() == HloOpcode::kCustomCall &&
        user->attributes().custom_call_target() == "control_dep") {
      continue;
    }
    ++users;
    found = user;
  }
  if (users != 1) {
    return Invalid(instruction.opcode_name(), " needs one user, its done; got ", users);
  }
  if (Holds(wanted, found->opcode())) return absl::OkStatus();
  return Invalid(instruction.opcode_name(), " cannot be used by ", found->opcode_name(), " '",
                 found->name(), "'");
}

absl::Status CheckOperandIs(const HloInstruction& instruction, Opcodes wanted) {
  const HloInstruction& operand = instruction.operand(0);
  if (Holds(wanted, operand.opcode())) return absl::OkStatus();
  return Invalid(instruction.opcode_name(), " cannot take ", operand.opcode_name(), " '",
                 operand.name(), "'");
}

// A send or recv alone in an asynchronous computation is waited for by that one's done.
bool IsWrapped(const HloInstruction& instruction) {
  if (!instruction.IsRoot()) return false;
  return absl::c_any_of(instruction.parent().callers(), [](const HloInstruction* caller) {
    return caller->opcode() == HloOpcode::kAsyncStart;
  });
}

// A done waits for the transfer that its send or recv started.
absl::Status CheckSameTransfer(const HloInstruction& done) {
  const HloInstruction& start = done.operand(0);
  const bool waits = start.opcode() == HloOpcode::kSend || start.opcode() == HloOpcode::kRecv;
  if (!waits || start.attributes().channel_id() == 0) return absl::OkStatus();
  if (start.attributes().channel_id() == done.attributes().channel_id() &&
      start.attributes().is_host_transfer() == done.attributes().is_host_transfer()) {
    return absl::OkStatus();
  }
  return Invalid("channel_id and is_host_transfer are not those of '", start.name(), "'");
}

absl::Status CheckAsyncOperands(const HloInstruction& instruction) {
  for (int64_t i = 0; i < instruction.operand_count(); ++i) {
    const HloInstruction& operand = instruction.operand(i);
    if (!Holds({HloOpcode::kAsyncStart, HloOpcode::kAsyncUpdate}, operand.opcode())) continue;
    if (i == 0 && Holds({HloOpcode::kAsyncUpdate, HloOpcode::kAsyncDone}, instruction.opcode())) {
      continue;
    }
    return Invalid(operand.opcode_name(), " '", operand.name(),
                   "' can only be the first operand of async-update or async-done");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPairs(const HloInstruction& instruction) {
  AUTOTUNE_RETURN_IF_ERROR(CheckAsyncOperands(instruction));
  switch (instruction.opcode()) {
    case HloOpcode::kAsyncStart:
      return CheckOneUser(instruction, {HloOpcode::kAsyncUpdate, HloOpcode::kAsyncDone});
    case HloOpcode::kAsyncUpdate:
      AUTOTUNE_RETURN_IF_ERROR(
          CheckOperandIs(instruction, {HloOpcode::kAsyncStart, HloOpcode::kAsyncUpdate}));
      return CheckOneUser(instruction, {HloOpcode::kAsyncUpdate, HloOpcode::kAsyncDone});
    case HloOpcode::kAsyncDone:
      return CheckOperandIs(instruction, {HloOpcode::kAsyncStart, HloOpcode::kAsyncUpdate});
    case HloOpcode::kAllReduceStart:
      return CheckOneUser(instruction, {HloOpcode::kAllReduceDone});
    case HloOpcode::kAllReduceDone:
      return CheckOperandIs(instruction, {HloOpcode::kAllReduceStart});
    case HloOpcode::kAllGatherStart:
      return CheckOneUser(instruction, {HloOpcode::kAllGatherDone});
    case HloOpcode::kAllGatherDone:
      return CheckOperandIs(instruction, {HloOpcode::kAllGatherStart});
    case HloOpcode::kCopyStart:
      return CheckOneUser(instruction, {HloOpcode::kCopyDone});
    case HloOpcode::kCopyDone:
      return CheckOperandIs(instruction, {HloOpcode::kCopyStart});
    case HloOpcode::kCollectivePermuteStart:
      return CheckOneUser(instruction, {HloOpcode::kCollectivePermuteDone});
    case HloOpcode::kCollectivePermuteDone:
      return CheckOperandIs(instruction, {HloOpcode::kCollectivePermuteStart});
    case HloOpcode::kSend:
      if (IsWrapped(instruction)) return absl::OkStatus();
      return CheckOneUser(instruction, {HloOpcode::kSendDone, HloOpcode::kTuple});
    case HloOpcode::kSendDone:
      AUTOTUNE_RETURN_IF_ERROR(
          CheckOperandIs(instruction, {HloOpcode::kSend, HloOpcode::kGetTupleElement}));
      return CheckSameTransfer(instruction);
    case HloOpcode::kRecv:
      if (IsWrapped(instruction)) return absl::OkStatus();
      return CheckOneUser(instruction, {HloOpcode::kRecvDone, HloOpcode::kTuple});
    case HloOpcode::kRecvDone:
      AUTOTUNE_RETURN_IF_ERROR(
          CheckOperandIs(instruction, {HloOpcode::kRecv, HloOpcode::kGetTupleElement}));
      return CheckSameTransfer(instruction);
    default:
      return absl::OkStatus();
  }
}

absl::Status CheckThreads(const HloInstruction& instruction) {
  absl::string_view thread = instruction.parent().execution_thread();
  switch (instruction.opcode()) {
    case HloOpcode::kFusion:
    case HloOpcode::kCall:
    case HloOpcode::kCustomCall:
    case HloOpcode::kWhile:
    case HloOpcode::kConditional:
      break;
    case HloOpcode::kAsyncStart:
      thread = instruction.attributes().async_execution_thread();
      if (thread.empty()) thread = "main";
      break;
    default:
      return absl::OkStatus();
  }
  for (const HloComputation* callee : instruction.called_computations()) {
    if (callee->execution_thread() == thread) continue;
    return Invalid(instruction.opcode_name(), " on the thread \"", thread, "\" calls '",
                   callee->name(), "' on the thread \"", callee->execution_thread(), "\"");
  }
  return absl::OkStatus();
}

}  // namespace autotune::verifier_rules
