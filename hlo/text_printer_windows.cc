// The attributes of windows, indices and contractions.

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "hlo/int_math.h"
#include "hlo/text_printer.h"

namespace autotune {

namespace {

// A name of a protobuf enumeration as the text has it: "HIGHEST" is highest.
std::string Lower(const std::string& name) { return absl::AsciiStrToLower(name); }

bool HasGroupCounts(const HloInstruction& instruction) {
  return instruction.opcode() == HloOpcode::kConvolution ||
         instruction.opcode() == HloOpcode::kCustomCall;
}

}  // namespace

void TextPrinter::WindowAttributes(const HloInstruction& instruction, const P& p) {
  if (!p.window().dimensions().empty()) {
    Window(p.window());
  } else if (p.has_window() && instruction.opcode() == HloOpcode::kCustomCall) {
    Begin("window");
    Add("{}");
  }
  if (p.has_convolution_dimension_numbers()) {
    DimLabels(p.convolution_dimension_numbers(), instruction);
  }
  if (HasGroupCounts(instruction)) {
    if (p.feature_group_count() != 1) Int("feature_group_count", p.feature_group_count());
    if (p.batch_group_count() != 1) Int("batch_group_count", p.batch_group_count());
  }
  if (p.conv_kind() != proto::CONVOLUTION_KIND_UNSET) {
    Begin("convolution_kind");
    Add(Lower(std::string(
        absl::StripPrefix(proto::ConvolutionKind_Name(p.conv_kind()), "CONVOLUTION_KIND_"))));
  }
  if (p.has_padding_config()) Padding(p.padding_config());
  if (p.has_sparsity_config() && (p.sparsity_config().has_lhs() || p.sparsity_config().has_rhs())) {
    Sparsity(p.sparsity_config());
  }
}

void TextPrinter::Window(const proto::Window& window) {
  Begin("window");
  const auto differs = [&](auto field, int64_t usual) {
    return std::any_of(window.dimensions().begin(), window.dimensions().end(),
                       [&](const proto::WindowDimension& d) { return (d.*field)() != usual; });
  };
  using W = proto::WindowDimension;
  const auto numbers = [&](absl::string_view name, auto field) {
    Add(name);
    for (int i = 0; i < window.dimensions_size(); ++i) {
      if (i > 0) Add('x');
      Number((window.dimensions(i).*field)());
    }
  };
  numbers("{size=", &W::size);
  if (differs(&W::stride, 1)) numbers(" stride=", &W::stride);
  if (differs(&W::padding_low, 0) || differs(&W::padding_high, 0)) {
    Add(" pad=");
    for (int i = 0; i < window.dimensions_size(); ++i) {
      if (i > 0) Add('x');
      Number(window.dimensions(i).padding_low());
      Add('_');
      Number(window.dimensions(i).padding_high());
    }
  }
  if (differs(&W::base_dilation, 1)) numbers(" lhs_dilate=", &W::base_dilation);
  if (differs(&W::window_dilation, 1)) numbers(" rhs_dilate=", &W::window_dilation);
  if (differs(&W::window_reversal, 0)) numbers(" rhs_reversal=", &W::window_reversal);
  Add('}');
}

void TextPrinter::DimLabels(const proto::ConvolutionDimensionNumbers& numbers,
                            const HloInstruction& of) {
  // A side has as many labels as its array has dimensions; those without a role are `?`.
  const auto side = [&](int64_t rank, int64_t first, char first_label, int64_t second,
                        char second_label, const Int64s& spatial) {
    int64_t size = std::max({rank, SaturatingAdd(first, 1), SaturatingAdd(second, 1)});
    for (const int64_t position : spatial) size = std::max(size, SaturatingAdd(position, 1));
    std::string labels(static_cast<size_t>(std::clamp<int64_t>(size, 2, 64)), '?');
    const auto put = [&](int64_t position, char label) {
      if (position >= 0 && position < static_cast<int64_t>(labels.size())) {
        labels[static_cast<size_t>(position)] = label;
      }
    };
    put(first, first_label);
    put(second, second_label);
    for (int i = 0; i < spatial.size(); ++i) put(spatial.Get(i), static_cast<char>('0' + i));
    Add(labels);
  };
  const auto rank = [&](int64_t i) {
    return i < of.operand_count() ? of.operand(i).shape().rank() : 0;
  };
  Begin("dim_labels");
  side(rank(0), numbers.input_batch_dimension(), 'b', numbers.input_feature_dimension(), 'f',
       numbers.input_spatial_dimensions());
  Add('_');
  side(rank(1), numbers.kernel_input_feature_dimension(), 'i',
       numbers.kernel_output_feature_dimension(), 'o', numbers.kernel_spatial_dimensions());
  Add("->");
  side(of.shape().IsArray() ? of.shape().rank() : 0, numbers.output_batch_dimension(), 'b',
       numbers.output_feature_dimension(), 'f', numbers.output_spatial_dimensions());
}

void TextPrinter::Padding(const proto::PaddingConfig& padding) {
  if (padding.dimensions().empty()) return;
  Begin("padding");
  const bool interior = std::any_of(padding.dimensions().begin(), padding.dimensions().end(),
                                    [](const auto& d) { return d.interior_padding() != 0; });
  bool first = true;
  for (const auto& dimension : padding.dimensions()) {
    if (!std::exchange(first, false)) Add('x');
    Number(dimension.edge_padding_low());
    Add('_');
    Number(dimension.edge_padding_high());
    if (!interior) continue;
    Add('_');
    Number(dimension.interior_padding());
  }
}

void TextPrinter::Sparsity(const proto::SparsityConfig& sparsity) {
  Begin("sparsity_config");
  Add('{');
  const auto side = [&](absl::string_view name, const auto& config) {
    absl::StrAppend(&out_, name, "={sparsity=", config.num_non_zero(), "x", config.block_size(),
                    " dimension=", config.dimension(), " stride=", config.stride(), "}");
  };
  if (sparsity.has_lhs()) side("lhs", sparsity.lhs());
  if (sparsity.has_lhs() && sparsity.has_rhs()) Add(' ');
  if (sparsity.has_rhs()) side("rhs", sparsity.rhs());
  Add('}');
}

void TextPrinter::IndexingAttributes(const HloInstruction& instruction, const P& p) {
  if (!p.slice_dimensions().empty() || instruction.opcode() == HloOpcode::kSlice) {
    Begin("slice");
    Add('{');
    bool first = true;
    for (const P::SliceDimensions& slice : p.slice_dimensions()) {
      Add(std::exchange(first, false) ? "[" : ", [");
      Number(slice.start());
      Add(':');
      Number(slice.limit());
      if (slice.stride() != 1) {
        Add(':');
        Number(slice.stride());
      }
      Add(']');
    }
    Add('}');
  }
  if (instruction.opcode() == HloOpcode::kDynamicSlice) {
    Braced("dynamic_slice_sizes", p.dynamic_slice_sizes());
  } else if (!p.dynamic_slice_sizes().empty()) {
    // Of a collective-permute. XLA has a list for each slice, but keeps them flat.
    Begin("slice_sizes");
    Add("{{");
    Numbers(p.dynamic_slice_sizes());
    Add("}}");
  }
  if (p.has_gather_dimension_numbers()) {
    const auto& g = p.gather_dimension_numbers();
    Braced("offset_dims", g.offset_dims());
    Braced("collapsed_slice_dims", g.collapsed_slice_dims());
    Braced("start_index_map", g.start_index_map());
    if (!g.operand_batching_dims().empty()) {
      Braced("operand_batching_dims", g.operand_batching_dims());
    }
    if (!g.start_indices_batching_dims().empty()) {
      Braced("start_indices_batching_dims", g.start_indices_batching_dims());
    }
    Int("index_vector_dim", g.index_vector_dim());
    Braced("slice_sizes", p.gather_slice_sizes());
  }
  if (p.has_scatter_dimension_numbers()) {
    const auto& s = p.scatter_dimension_numbers();
    Braced("update_window_dims", s.update_window_dims());
    Braced("inserted_window_dims", s.inserted_window_dims());
    Braced("scatter_dims_to_operand_dims", s.scatter_dims_to_operand_dims());
    if (!s.input_batching_dims().empty()) Braced("input_batching_dims", s.input_batching_dims());
    if (!s.scatter_indices_batching_dims().empty()) {
      Braced("scatter_indices_batching_dims", s.scatter_indices_batching_dims());
    }
    Int("index_vector_dim", s.index_vector_dim());
  }
  Flag("indices_are_sorted", p.indices_are_sorted());
  Flag("unique_indices", p.unique_indices());
  Flag("is_stable", p.is_stable());
}

void TextPrinter::ContractionAttributes(const HloInstruction& instruction, const P& p) {
  if (p.has_dot_dimension_numbers() || p.has_ragged_dot_dimension_numbers()) {
    const proto::DotDimensionNumbers& d =
        p.has_dot_dimension_numbers() ? p.dot_dimension_numbers()
                                      : p.ragged_dot_dimension_numbers().dot_dimension_numbers();
    if (!d.lhs_batch_dimensions().empty()) Braced("lhs_batch_dims", d.lhs_batch_dimensions());
    Braced("lhs_contracting_dims", d.lhs_contracting_dimensions());
    if (!d.rhs_batch_dimensions().empty()) Braced("rhs_batch_dims", d.rhs_batch_dimensions());
    Braced("rhs_contracting_dims", d.rhs_contracting_dimensions());
  }
  if (p.has_ragged_dot_dimension_numbers()) {
    const auto& r = p.ragged_dot_dimension_numbers();
    if (!r.lhs_ragged_dimensions().empty()) Braced("lhs_ragged_dims", r.lhs_ragged_dimensions());
    if (!r.rhs_group_dimensions().empty()) Braced("rhs_group_dims", r.rhs_group_dimensions());
  }
  if (p.has_precision_config()) Precision(p.precision_config());
  if (instruction.opcode() == HloOpcode::kTriangularSolve) {
    using T = proto::TriangularSolveOptions;
    const T& t = p.triangular_solve_options();
    Flag("left_side", t.left_side());
    Flag("lower", t.lower());
    Flag("unit_diagonal", t.unit_diagonal());
    if (t.transpose_a() != T::TRANSPOSE_INVALID) {
      Begin("transpose_a");
      Add(T::Transpose_Name(t.transpose_a()));
    }
  }
  if (instruction.opcode() == HloOpcode::kCholesky) Flag("lower", p.cholesky_options().lower());
}

void TextPrinter::Precision(const proto::PrecisionConfig& precision) {
  const auto& operands = precision.operand_precision();
  if (std::any_of(operands.begin(), operands.end(), [](int value) { return value != 0; })) {
    Begin("operand_precision");
    Add('{');
    for (int i = 0; i < operands.size(); ++i) {
      if (i > 0) Add(',');
      Add(Lower(proto::PrecisionConfig::Precision_Name(precision.operand_precision(i))));
    }
    Add('}');
  }
  if (precision.algorithm() == proto::PrecisionConfig::ALG_UNSET) return;
  const std::string name = Lower(proto::PrecisionConfig::Algorithm_Name(precision.algorithm()));
  Begin("algorithm");
  Add(absl::StripPrefix(name, "alg_"));
}

}  // namespace autotune
