#include "hardware/kernel_roofline.h"

#include <algorithm>
#include <optional>

#include "hlo/in_place_update.h"
#include "hlo/module.h"
#include "hlo/shape.h"

namespace autotune {
namespace {

bool InHbm(const Shape& shape) { return !shape.has_layout() || shape.layout().memory_space == 0; }

// The share of the bytes of a value that lie in HBM.
double HbmShare(const Shape& shape) {
  if (!shape.IsTuple()) return InHbm(shape) ? 1 : 0;
  double all = 0;
  double in_hbm = 0;
  for (const Shape& element : shape.tuple_shapes()) {
    const double bytes = CostBytes(element);
    all += bytes;
    in_hbm += bytes * HbmShare(element);
  }
  return all > 0 ? in_hbm / all : 1;
}

double ProductFlops(const HloInstruction& instruction) {
  if (instruction.opcode() == HloOpcode::kConvolution) return ConvolutionFlops(instruction);
  if (instruction.opcode() == HloOpcode::kDot) return DotFlops(instruction);
  return 0;
}

}  // namespace

double HbmBytes(const CostAnalysis& analysis, const HloInstruction& operation) {
  double written = analysis.OutputBytes(operation);
  const HloInstruction* untouched = nullptr;
  // The analysis, being XLA's, knows updates in place only where nothing stands between.
  const std::optional<InPlaceUpdate> in_place = FindInPlaceUpdate(operation, 0);
  if (in_place && operation.shape().IsArray()) {
    written = CostBytes(in_place->update->shape());
    if (!in_place->is_read) untouched = in_place->parameter;
  }
  double bytes = written * HbmShare(operation.shape());
  for (int64_t i = 0; i < operation.operand_count(); ++i) {
    if (&operation.operand(i) == untouched) continue;
    bytes += analysis.OperandBytes(operation, i) * HbmShare(operation.operand(i).shape());
  }
  return bytes;
}

double RooflineSeconds(const Kernel& kernel, const DeviceSpec& device) {
  double products = 0;
  for (const HloComputation* computation : kernel.module->computations()) {
    for (const HloInstruction* instruction : computation->instructions()) {
      const bool integral = IsIntegral(instruction->shape().element_type());
      const double peak = integral && device.int8_ops_per_second > 0 ? device.int8_ops_per_second
                                                                     : device.bf16_flops_per_second;
      products += ProductFlops(*instruction) / peak;
    }
  }
  const CostAnalysis analysis(*kernel.module);
  const double bytes = HbmBytes(analysis, kernel.module->entry_computation().root());
  return std::max(products, bytes / device.hbm_bytes_per_second);
}

std::optional<double> CompilerEstimateSeconds(const Kernel& kernel, const DeviceSpec& device) {
  const std::optional<CompilerChoice>& choice = kernel.compiler_choice;
  if (!choice || !choice->estimated_cycles) return std::nullopt;
  return static_cast<double>(*choice->estimated_cycles) / device.clock_hz;
}

}  // namespace autotune
