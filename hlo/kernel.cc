#include "hlo/kernel.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hlo/int_math.h"
#include "hlo/kernel_choice.h"
#include "hlo/kernel_hash.h"
#include "hlo/kernel_kind.h"
#include "hlo/kernel_module.h"
#include "hlo/kernel_trip_count.h"
#include "hlo/module.h"

namespace autotune {
namespace {

// How often a computation runs in one execution of the program.
struct Visits {
  int64_t count = 0;
  // Whether only asynchronous operations run it: plain copies there are the DMA engine's work.
  bool only_async = true;
};

// True for operations whose called computations hold kernels of their own.
bool IsControlFlow(HloOpcode opcode) {
  return opcode == HloOpcode::kWhile || opcode == HloOpcode::kConditional ||
         opcode == HloOpcode::kCall || opcode == HloOpcode::kAsyncStart;
}

using VisitMap = absl::flat_hash_map<const HloComputation*, Visits>;

VisitMap CountVisits(const HloModule& program) {
  VisitMap visits;
  visits[&program.entry_computation()] = {1, false};
  // Callers come after their callees, so each count is complete when it is used.
  const auto computations = program.computations();
  for (auto it = computations.rbegin(); it != computations.rend(); ++it) {
    const auto found = visits.find(*it);
    if (found == visits.end()) continue;
    const Visits caller = found->second;
    for (const HloInstruction* instruction : (*it)->instructions()) {
      if (!IsControlFlow(instruction->opcode())) continue;
      const bool loop = instruction->opcode() == HloOpcode::kWhile;
      const int64_t rounds = loop ? WhileTripCount(*instruction).value_or(1) : 1;
      const bool async = instruction->opcode() == HloOpcode::kAsyncStart;
      for (const HloComputation* callee : instruction->called_computations()) {
        Visits& callee_visits = visits[callee];
        callee_visits.count =
            SaturatingAdd(callee_visits.count, SaturatingMultiply(caller.count, rounds));
        callee_visits.only_async &= caller.only_async || async;
      }
    }
  }
  return visits;
}

// The instructions of the entry and of all that control flow reaches from it, each computation
// once, in the order of a first execution.
std::vector<const HloInstruction*> ExecutionOrder(const HloModule& program) {
  std::vector<const HloInstruction*> order;
  absl::flat_hash_set<const HloComputation*> seen = {&program.entry_computation()};
  struct Frame {
    const HloComputation* computation;
    size_t next;
  };
  std::vector<Frame> stack = {{&program.entry_computation(), 0}};
  while (!stack.empty()) {
    Frame& frame = stack.back();
    if (frame.next == frame.computation->instructions().size()) {
      stack.pop_back();
      continue;
    }
    const HloInstruction* instruction = frame.computation->instructions()[frame.next++];
    order.push_back(instruction);
    if (!IsControlFlow(instruction->opcode())) continue;
    // The stack hands them out in reverse.
    const auto callees = instruction->called_computations();
    for (auto callee = callees.rbegin(); callee != callees.rend(); ++callee) {
      if (seen.insert(*callee).second) stack.push_back({*callee, 0});
    }
  }
  return order;
}

bool HasWindowConfig(const HloInstruction& instruction) {
  return absl::StrContains(instruction.backend_config(), "\"window_config\"");
}

// Programs before optimisation have neither a schedule nor fusions nor windows.
bool IsOptimized(const HloModule& program) {
  if (program.is_scheduled()) return true;
  for (const HloComputation* computation : program.computations()) {
    for (const HloInstruction* instruction : computation->instructions()) {
      if (instruction->opcode() == HloOpcode::kFusion || HasWindowConfig(*instruction)) return true;
    }
  }
  return false;
}

// Scalars are the scalar core's work.
bool HasArray(const HloInstruction& instruction) {
  const auto is_array = [](const Shape& shape) {
    if (!shape.IsTuple()) return shape.ElementsIn() > 1;
    return std::any_of(shape.tuple_shapes().begin(), shape.tuple_shapes().end(),
                       [](const Shape& part) { return part.ElementsIn() > 1; });
  };
  return is_array(instruction.shape()) ||
         std::any_of(instruction.operands().begin(), instruction.operands().end(),
                     [&](const HloInstruction* operand) { return is_array(operand->shape()); });
}

// Whether the TPU compiler runs the instruction as a kernel of its own.
bool IsKernel(const HloInstruction& instruction, bool async) {
  if (instruction.opcode() == HloOpcode::kFusion || HasWindowConfig(instruction)) return true;
  if (instruction.opcode() == HloOpcode::kCustomCall) {
    return instruction.attributes().custom_call_target() == "tpu_custom_call";
  }
  if (async && !IsContraction(instruction.opcode())) return false;
  return RunsAsKernel(instruction.opcode()) && HasArray(instruction);
}

Kernel DescribeKernel(const HloInstruction& operation, uint64_t fingerprint) {
  Kernel kernel;
  kernel.name = std::string(operation.name());
  kernel.kind = KernelKind(operation);
  kernel.compiler_choice = ParseCompilerChoice(operation.backend_config());
  kernel.fingerprint = fingerprint;
  return kernel;
}

// The one operation of a kernel's module, or null if the module is no single kernel.
const HloInstruction* SingleOperation(const HloModule& module) {
  const HloInstruction& root = module.entry_computation().root();
  if (IsKernelInput(root.opcode()) || IsControlFlow(root.opcode()) ||
      (!RunsAsKernel(root.opcode()) && !IsKernel(root, /*async=*/false))) {
    return nullptr;
  }
  for (const HloInstruction* instruction : module.entry_computation().instructions()) {
    if (instruction != &root && !IsKernelInput(instruction->opcode())) return nullptr;
  }
  return &root;
}

}  // namespace

absl::StatusOr<std::vector<Kernel>> ExtractKernels(const HloModule& program) {
  std::vector<Kernel> kernels;
  if (!IsOptimized(program)) return kernels;
  const VisitMap visits = CountVisits(program);
  const KernelHasher hasher(program);
  absl::flat_hash_map<uint64_t, size_t> index;
  for (const HloInstruction* instruction : ExecutionOrder(program)) {
    const Visits& visit = visits.at(&instruction->parent());
    if (!IsKernel(*instruction, visit.only_async)) continue;
    const uint64_t fingerprint = hasher.Operation(*instruction);
    const auto [found, is_new] = index.emplace(fingerprint, kernels.size());
    if (!is_new) {
      Kernel& known = kernels[found->second];
      known.count = SaturatingAdd(known.count, visit.count);
      continue;
    }
    Kernel kernel = DescribeKernel(*instruction, fingerprint);
    kernel.count = visit.count;
    absl::StatusOr<std::unique_ptr<HloModule>> module = BuildKernelModule(*instruction);
    if (!module.ok()) {
      return absl::Status(module.status().code(),
                          absl::StrCat("kernel ", kernel.name, ": ", module.status().message()));
    }
    kernel.module = *std::move(module);
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

absl::StatusOr<Kernel> KernelFromModule(std::shared_ptr<const HloModule> module) {
  const HloInstruction* operation = SingleOperation(*module);
  if (operation == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("module ", module->name(),
                     " is not a single kernel: its entry computation holds more than parameters, "
                     "constants and one operation at the root"));
  }
  Kernel kernel = DescribeKernel(*operation, KernelHasher(*module).Operation(*operation));
  kernel.module = std::move(module);
  return kernel;
}

uint64_t KernelFingerprint(const HloModule& kernel_module) {
  const KernelHasher hasher(kernel_module);
  const HloInstruction* operation = SingleOperation(kernel_module);
  return operation != nullptr ? hasher.Operation(*operation)
                              : hasher.Computation(kernel_module.entry_computation());
}

}  // namespace autotune
