#include "hlo/dot_convolution.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hlo/next_free_id.h"
#include "hlo/opcode.h"

namespace autotune {
namespace {

using Dimensions = google::protobuf::RepeatedField<int64_t>;

bool Has(const Dimensions& dimensions, int64_t dimension) {
  return std::find(dimensions.begin(), dimensions.end(), dimension) != dimensions.end();
}

// The dimensions of an operand that are neither batch nor contracted.
std::vector<int64_t> FreeDimensions(const proto::ShapeProto& shape, const Dimensions& batch,
                                    const Dimensions& contracted) {
  std::vector<int64_t> free;
  for (int64_t d = 0; d < shape.dimensions_size(); ++d) {
    if (!Has(batch, d) && !Has(contracted, d)) free.push_back(d);
  }
  return free;
}

const proto::HloInstructionProto* Find(const proto::HloComputationProto& computation, int64_t id) {
  for (const proto::HloInstructionProto& instruction : computation.instructions()) {
    if (instruction.id() == id) return &instruction;
  }
  return nullptr;
}

void AddWindow(proto::Window* window, int64_t size) {
  proto::WindowDimension& dimension = *window->add_dimensions();
  dimension.set_size(size);
  dimension.set_stride(std::max<int64_t>(1, size - 1));
  dimension.set_base_dilation(size);
  dimension.set_window_dilation(1);
}

absl::Status Unsupported(absl::string_view name, absl::string_view why) {
  return absl::UnimplementedError(
      absl::StrCat("the dot ", name, " cannot be written as a convolution: ", why));
}

// The dimensions of a dot's operands that are neither contracted nor batched.
struct FreeOf {
  std::vector<int64_t> lhs, rhs;
};

// The dot's dimensions as those of a convolution: batches are windows over both operands, and so
// are the free dimensions of the first but for its last, over new dimensions of size 1 of the
// second.
void SetConvolutionDimensions(const proto::DotDimensionNumbers& numbers, const FreeOf& free,
                              const proto::ShapeProto& lhs, int64_t rhs_rank,
                              proto::HloInstructionProto* dot) {
  proto::ConvolutionDimensionNumbers& labels = *dot->mutable_convolution_dimension_numbers();
  proto::Window& window = *dot->mutable_window();
  const int64_t batches = numbers.lhs_batch_dimensions_size();
  for (int i = 0; i < batches; ++i) {
    labels.add_input_spatial_dimensions(numbers.lhs_batch_dimensions(i));
    labels.add_kernel_spatial_dimensions(numbers.rhs_batch_dimensions(i));
    labels.add_output_spatial_dimensions(i);
    AddWindow(&window, lhs.dimensions(static_cast<int>(numbers.lhs_batch_dimensions(i))));
  }
  const auto more = static_cast<int64_t>(free.lhs.size()) - 1;
  for (int64_t i = 0; i < more; ++i) {
    labels.add_input_spatial_dimensions(free.lhs[static_cast<size_t>(i)]);
    labels.add_kernel_spatial_dimensions(rhs_rank + i);
    labels.add_output_spatial_dimensions(batches + i);
    AddWindow(&window, 1);
  }
  labels.set_input_batch_dimension(free.lhs.back());
  labels.set_input_feature_dimension(numbers.lhs_contracting_dimensions(0));
  labels.set_kernel_input_feature_dimension(numbers.rhs_contracting_dimensions(0));
  labels.set_kernel_output_feature_dimension(free.rhs.front());
  labels.set_output_batch_dimension(batches + more);
  labels.set_output_feature_dimension(batches + more + 1);
}

// `operand` with `more` dimensions of size 1 behind its own.
proto::HloInstructionProto Widened(const proto::HloInstructionProto& operand, int64_t more,
                                   int64_t id, const std::string& name) {
  proto::HloInstructionProto reshape;
  reshape.set_id(id);
  reshape.set_name(name);
  reshape.set_opcode(std::string(HloOpcodeName(HloOpcode::kReshape)));
  *reshape.mutable_shape() = operand.shape();
  reshape.mutable_shape()->clear_layout();
  for (int64_t i = 0; i < more; ++i) {
    reshape.mutable_shape()->add_dimensions(1);
    reshape.mutable_shape()->add_is_dynamic_dimension(false);
  }
  // Beside the logical dimensions nothing is known of the layout: row by row.
  auto& layout = *reshape.mutable_shape()->mutable_layout();
  for (int64_t d = operand.shape().dimensions_size() + more - 1; d >= 0; --d) {
    layout.add_minor_to_major(d);
  }
  reshape.add_operand_ids(operand.id());
  return reshape;
}

// Converts instruction `index` of a computation. `reshape_id` is free.
absl::Status Convert(int index, int64_t reshape_id, proto::HloComputationProto* computation) {
  proto::HloInstructionProto& dot = *computation->mutable_instructions(index);
  const proto::DotDimensionNumbers numbers = dot.dot_dimension_numbers();
  const auto* lhs = Find(*computation, dot.operand_ids(0));
  const auto* rhs = Find(*computation, dot.operand_ids(1));
  if (lhs == nullptr || rhs == nullptr) return Unsupported(dot.name(), "an operand is missing");
  if (numbers.lhs_contracting_dimensions_size() != 1) {
    return Unsupported(dot.name(), absl::StrCat(numbers.lhs_contracting_dimensions_size(),
                                                " contracted dimensions"));
  }
  const FreeOf free = {FreeDimensions(lhs->shape(), numbers.lhs_batch_dimensions(),
                                      numbers.lhs_contracting_dimensions()),
                       FreeDimensions(rhs->shape(), numbers.rhs_batch_dimensions(),
                                      numbers.rhs_contracting_dimensions())};
  if (free.lhs.empty() || free.rhs.size() != 1) {
    return Unsupported(dot.name(),
                       absl::StrCat(free.lhs.size(), " and ", free.rhs.size(), " free dimensions"));
  }
  SetConvolutionDimensions(numbers, free, lhs->shape(), rhs->shape().dimensions_size(), &dot);
  dot.set_opcode(std::string(HloOpcodeName(HloOpcode::kConvolution)));
  dot.clear_dot_dimension_numbers();
  dot.set_feature_group_count(1);
  dot.set_batch_group_count(1);
  const auto more = static_cast<int64_t>(free.lhs.size()) - 1;
  if (more == 0) return absl::OkStatus();

  proto::HloInstructionProto reshape =
      Widened(*rhs, more, reshape_id, absl::StrCat(dot.name(), ".window"));
  dot.set_operand_ids(1, reshape_id);
  // Operands stand before their users.
  auto& list = *computation->mutable_instructions();
  *list.Add() = std::move(reshape);
  for (int i = list.size() - 1; i > index; --i) list.SwapElements(i, i - 1);
  return absl::OkStatus();
}

}  // namespace

absl::Status MakeDotConvolution(absl::string_view name, proto::HloModuleProto* program) {
  for (proto::HloComputationProto& computation : *program->mutable_computations()) {
    for (int i = 0; i < computation.instructions_size(); ++i) {
      const proto::HloInstructionProto& instruction = computation.instructions(i);
      if (instruction.name() != std::string(name) ||
          instruction.opcode() != HloOpcodeName(HloOpcode::kDot)) {
        continue;
      }
      return Convert(i, NextFreeId(*program), &computation);
    }
  }
  return absl::NotFoundError(absl::StrCat("there is no dot ", name));
}

}  // namespace autotune
