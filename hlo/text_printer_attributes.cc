#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "hlo/text_parser.h"
#include "hlo/text_printer.h"

namespace autotune {
namespace {

// A name of a protobuf enumeration as the text has it: "HIGHEST" is highest.
std::string Lower(const std::string& name) { return absl::AsciiStrToLower(name); }

}  // namespace

void TextPrinter::Attributes(const HloInstruction& instruction) {
  const P& p = instruction.attributes();
  DimensionAttributes(instruction);
  CallAttributes(instruction);
  if (&p != &P::default_instance()) {
    WindowAttributes(instruction, p);
    IndexingAttributes(instruction, p);
    ContractionAttributes(instruction, p);
    OperationAttributes(instruction, p);
    ChannelAttributes(instruction, p);
    if (instruction.opcode() == HloOpcode::kCustomCall) CustomCallAttributes(instruction, p);
    OutputAliasing(p);
  }
  CommonAttributes(instruction, p);
}

void TextPrinter::DimensionAttributes(const HloInstruction& instruction) {
  const absl::Span<const int64_t> dimensions = instruction.dimensions();
  switch (instruction.opcode()) {
    case HloOpcode::kIota:
      if (!dimensions.empty()) Int("iota_dimension", dimensions[0]);
      return;
    case HloOpcode::kReshape:
      if (!dimensions.empty()) Int("inferred_dimension", dimensions[0]);
      return;
    case HloOpcode::kGetTupleElement:
      return Int("index", instruction.tuple_index());
    case HloOpcode::kBroadcast:
    case HloOpcode::kReduce:
    case HloOpcode::kReverse:
    case HloOpcode::kTranspose:
    case HloOpcode::kMap:
      // Without dimensions too.
      break;
    default:
      if (dimensions.empty()) return;
  }
  Begin("dimensions");
  Add('{');
  Numbers(dimensions);
  Add('}');
}

void TextPrinter::CallAttributes(const HloInstruction& instruction) {
  const auto callees = instruction.called_computations();
  const auto one = [&](absl::string_view name, size_t i) {
    if (i >= callees.size()) return;
    Begin(name);
    Name(*callees[i]);
  };
  const auto list = [&](absl::string_view name) {
    Begin(name);
    Add('{');
    for (size_t i = 0; i < callees.size(); ++i) {
      if (i > 0) Add(", ");
      Name(*callees[i]);
    }
    Add('}');
  };
  if (callees.empty()) return;
  switch (instruction.opcode()) {
    case HloOpcode::kWhile:
      one("condition", 1);
      return one("body", 0);
    case HloOpcode::kSelectAndScatter:
      one("select", 0);
      return one("scatter", 1);
    case HloOpcode::kConditional:
      if (instruction.operand_count() > 0 &&
          instruction.operand(0).shape().element_type() == proto::PRED && callees.size() == 2) {
        one("true_computation", 0);
        return one("false_computation", 1);
      }
      return list("branch_computations");
    case HloOpcode::kFusion:
      Begin("kind");
      Add(instruction.attributes().fusion_kind());
      return one("calls", 0);
    case HloOpcode::kAsyncStart:
      return one("calls", 0);
    case HloOpcode::kCustomCall:
    case HloOpcode::kUnknown:
      return callees.size() == 1 ? one("to_apply", 0) : list("called_computations");
    default:
      return one("to_apply", 0);
  }
}

void TextPrinter::WindowAttributes(const HloInstruction& instruction, const P& p) {
  if (!p.window().dimensions().empty()) Window(p.window());
  if (p.has_convolution_dimension_numbers()) {
    DimLabels(p.convolution_dimension_numbers(), instruction);
  }
  if (p.feature_group_count() > 1) Int("feature_group_count", p.feature_group_count());
  if (p.batch_group_count() > 1) Int("batch_group_count", p.batch_group_count());
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
    int64_t size = std::max({rank, first + 1, second + 1});
    for (const int64_t position : spatial) size = std::max(size, position + 1);
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
    absl::StrAppend(&out_, name, "={num_non_zero=", config.num_non_zero(),
                    ", block_size=", config.block_size(), ", dimension=", config.dimension());
    absl::StrAppend(&out_, ", stride=", config.stride(), "}");
  };
  if (sparsity.has_lhs()) side("lhs", sparsity.lhs());
  if (sparsity.has_lhs() && sparsity.has_rhs()) Add(", ");
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

void TextPrinter::OperationAttributes(const HloInstruction& instruction, const P& p) {
  switch (instruction.opcode()) {
    case HloOpcode::kCompare:
      Begin("direction");
      Add(p.comparison_direction());
      if (!p.comparison_type().empty()) {
        Begin("type");
        Add(p.comparison_type());
      }
      break;
    case HloOpcode::kFft:
      Begin("fft_type");
      Add(proto::FftType_Name(p.fft_type()));
      Braced("fft_length", p.fft_length());
      break;
    case HloOpcode::kRng:
      Begin("distribution");
      Add(Lower(proto::RandomDistribution_Name(p.distribution())));
      break;
    case HloOpcode::kRngBitGenerator:
      Begin("algorithm");
      Add(Lower(proto::RandomAlgorithm_Name(p.rng_algorithm())));
      break;
    case HloOpcode::kRngGetAndUpdateState:
      Int("delta", p.delta());
      break;
    case HloOpcode::kBatchNormGrad:
    case HloOpcode::kBatchNormInference:
    case HloOpcode::kBatchNormTraining:
      Begin("epsilon");
      Double(p.epsilon());
      Int("feature_index", p.feature_index());
      break;
    case HloOpcode::kReducePrecision:
      Int("exponent_bits", p.exponent_bits());
      Int("mantissa_bits", p.mantissa_bits());
      break;
    case HloOpcode::kTopK:
      Int("k", p.k());
      Begin("largest");
      Add(p.largest() ? "true" : "false");
      break;
    case HloOpcode::kScan:
      Flag("is_reverse", p.is_reverse());
      Flag("is_associative", p.is_associative() == proto::TRI_STATE_TRUE);
      Int("num_carries", p.num_carries());
      break;
    case HloOpcode::kDomain:
      Begin("domain");
      Add("{kind=\"sharding\", entry=");
      Sharding(p.domain_exit_sharding());
      Add(", exit=");
      Sharding(p.domain_entry_sharding());
      Add('}');
      break;
    default:
      break;
  }
  Flag("is_composite", p.is_composite());
  if (p.has_result_accuracy()) ResultAccuracy(p.result_accuracy());
}

void TextPrinter::ResultAccuracy(const proto::ResultAccuracy& accuracy) {
  if (accuracy.has_tolerance()) {
    Begin("result_accuracy");
    Add("{tolerance={atol=");
    Double(accuracy.tolerance().atol());
    Add(", rtol=");
    Double(accuracy.tolerance().rtol());
    Add(", ulps=");
    Number(accuracy.tolerance().ulps());
    return Add("}}");
  }
  if (accuracy.mode() == proto::ResultAccuracy::DEFAULT) return;
  Begin("result_accuracy");
  Add("{mode=");
  Add(Lower(proto::ResultAccuracy::Mode_Name(accuracy.mode())));
  Add('}');
}

void TextPrinter::ChannelAttributes(const HloInstruction& instruction, const P& p) {
  if (p.channel_id() > 0) Int("channel_id", p.channel_id());
  ReplicaGroups(p);
  if (!p.source_target_pairs().empty() || instruction.opcode() == HloOpcode::kCollectivePermute ||
      instruction.opcode() == HloOpcode::kCollectivePermuteStart) {
    Begin("source_target_pairs");
    Add('{');
    bool first = true;
    for (const proto::SourceTarget& pair : p.source_target_pairs()) {
      Add(std::exchange(first, false) ? "{" : ",{");
      Number(pair.source());
      Add(',');
      Number(pair.target());
      Add('}');
    }
    Add('}');
  }
  const bool custom_call = instruction.opcode() == HloOpcode::kCustomCall;
  if (!custom_call) Flag("constrain_layout", p.constrain_layout());
  Flag("use_global_device_ids", p.use_global_device_ids());
  Flag("is_host_transfer", p.is_host_transfer());
  if (p.optional_cross_program_prefetch_index_case() == P::kCrossProgramPrefetchIndex) {
    Int("cross_program_prefetch_index", p.cross_program_prefetch_index());
  }
  const auto quoted = [&](absl::string_view name, const std::string& text) {
    if (text.empty()) return;
    Begin(name);
    Quoted(text);
  };
  quoted("infeed_config", p.infeed_config());
  quoted("outfeed_config", p.outfeed_config());
  if (p.has_outfeed_shape()) {
    Begin("outfeed_shape");
    Shape::FromProto(p.outfeed_shape()).AppendTo(&out_);
  }
  if (instruction.opcode() == HloOpcode::kAsyncStart) {
    quoted("async_execution_thread", p.async_execution_thread());
  }
}

void TextPrinter::CustomCallAttributes(const HloInstruction&, const P& p) {
  Begin("custom_call_target");
  Quoted(p.custom_call_target());
  if (p.constrain_layout()) {
    Begin("operand_layout_constraints");
    Add('{');
    for (int i = 0; i < p.operand_shapes_with_layout_size(); ++i) {
      if (i > 0) Add(", ");
      Shape::FromProto(p.operand_shapes_with_layout(i)).AppendTo(&out_);
    }
    Add('}');
  }
  Flag("custom_call_has_side_effect", p.custom_call_has_side_effect());
  if (p.padding_type() != proto::PADDING_INVALID) {
    Begin("padding_type");
    Add(proto::PaddingType_Name(p.padding_type()));
  }
  if (p.has_literal()) {
    Begin("literal");
    LiteralProtoText(p.literal());
  }
  if (p.custom_call_schedule() != proto::SCHEDULE_NONE) {
    Begin("schedule");
    Add(proto::CustomCallSchedule_Name(p.custom_call_schedule()));
  }
  if (p.custom_call_api_version() > proto::API_VERSION_ORIGINAL) {
    Begin("api_version");
    Add(proto::CustomCallApiVersion_Name(p.custom_call_api_version()));
  }
}

void TextPrinter::OutputAliasing(const P& p) {
  if (p.output_operand_aliasing().empty()) return;
  Begin("output_to_operand_aliasing");
  Add('{');
  bool first = true;
  for (const proto::OutputOperandAliasing& alias : p.output_operand_aliasing()) {
    Add(std::exchange(first, false) ? "{" : ", {");
    Numbers(alias.output_shape_index(), ", ");
    Add("}: (");
    Number(alias.operand_index());
    Add(", {");
    Numbers(alias.operand_shape_index(), ", ");
    Add("})");
  }
  Add('}');
}

void TextPrinter::CommonAttributes(const HloInstruction& instruction, const P& p) {
  if (p.has_sharding()) {
    Begin("sharding");
    Sharding(p.sharding());
  }
  if (!p.frontend_attributes().map().empty() && !options_.canonical) {
    Begin("frontend_attributes");
    FrontendAttributes(p.frontend_attributes());
  }
  if (p.has_parameter_replication() && instruction.opcode() == HloOpcode::kParameter) {
    Begin("parameter_replication");
    Add('{');
    bool first = true;
    for (const bool replicated : p.parameter_replication().replicated_at_leaf_buffers()) {
      if (!std::exchange(first, false)) Add(',');
      Add(replicated ? "true" : "false");
    }
    Add('}');
  }
  if (!instruction.control_predecessors().empty()) {
    Begin("control-predecessors");
    Add('{');
    bool first = true;
    for (const HloInstruction* predecessor : instruction.control_predecessors()) {
      if (!std::exchange(first, false)) Add(", ");
      Name(*predecessor);
    }
    Add('}');
  }
  if (options_.metadata && instruction.has_metadata()) Metadata(instruction.metadata());
  if (options_.metadata && p.has_original_value()) OriginalValue(p.original_value());
  if (options_.metadata && p.statistics_viz().statistics_size() > 0) {
    Begin("statistics");
    Add("{visualizing_index=");
    Number(p.statistics_viz().stat_index_to_visualize());
    for (const proto::Statistic& statistic : p.statistics_viz().statistics()) {
      Begin(statistic.stat_name());
      Double(statistic.stat_val());
    }
    Add('}');
  }
  if (options_.backend_config && !instruction.backend_config().empty()) {
    Begin("backend_config");
    QuotedOrJson(instruction.backend_config());
  }
  VerbatimAttributes(p);
}

void TextPrinter::VerbatimAttributes(const P& p) {
  const google::protobuf::UnknownFieldSet& unknown = p.GetReflection()->GetUnknownFields(p);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const google::protobuf::UnknownField& field = unknown.field(i);
    if (field.number() != TextParser::kVerbatimAttributeField ||
        field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) {
      continue;
    }
    Add(", ");
    Add(field.length_delimited());
  }
}

void TextPrinter::FrontendAttributes(const proto::FrontendAttributes& attributes) {
  // A protobuf map has no order of its own.
  std::vector<std::pair<absl::string_view, absl::string_view>> sorted(attributes.map().begin(),
                                                                      attributes.map().end());
  std::sort(sorted.begin(), sorted.end());
  Add('{');
  bool first = true;
  for (const auto& [name, value] : sorted) {
    if (!std::exchange(first, false)) Add(',');
    Add(name);
    Add('=');
    QuotedOrJson(value);
  }
  Add('}');
}

void TextPrinter::OriginalArray(const proto::OriginalArrayProto& array) {
  Add('{');
  if (!array.instruction_name().empty()) {
    Quoted(array.instruction_name());
    if (!array.shape_index().empty()) {
      Add(" {");
      Numbers(array.shape_index());
      Add('}');
    }
  }
  Add('}');
}

// The elements stand in the order of their indices; the parentheses of the text say where.
void TextPrinter::OriginalValue(const proto::OriginalValueProto& value) {
  Begin("origin");
  if (value.is_synthetic_call()) return Add("{[synthetic_call]}");
  Add('{');
  std::vector<int64_t> at;
  for (const proto::OriginalValueElementProto& element : value.elements()) {
    const auto& index = element.shape_index();
    size_t shared = 0;
    while (shared < at.size() && shared < static_cast<size_t>(index.size()) &&
           at[shared] == index.Get(static_cast<int>(shared))) {
      ++shared;
    }
    // Up to the deepest tuple that holds both, on to the part that holds this one, and down.
    while (at.size() > shared + 1) {
      Add(')');
      at.pop_back();
    }
    for (size_t depth = shared; depth < static_cast<size_t>(index.size()); ++depth) {
      const int64_t wanted = index.Get(static_cast<int>(depth));
      if (depth >= at.size()) {
        Add('(');
        at.push_back(0);
      }
      for (; at[depth] < wanted && at[depth] < 1 << 20; ++at[depth]) Add(", ");
    }
    OriginalArray(element.original_array());
  }
  while (!at.empty()) {
    Add(')');
    at.pop_back();
  }
  Add('}');
}

void TextPrinter::Metadata(const OpMetadata& metadata) {
  Begin("metadata");
  if (metadata.full != nullptr) return Metadata(*metadata.full);
  bool first = true;
  const auto begin = [&](absl::string_view name) {
    if (!std::exchange(first, false)) Add(' ');
    Add(name);
    Add('=');
  };
  const auto text = [&](absl::string_view name, absl::string_view value) {
    if (value.empty()) return;
    begin(name);
    Quoted(value);
  };
  const auto number = [&](absl::string_view name, int64_t value) {
    if (value == 0) return;
    begin(name);
    Number(value);
  };
  Add('{');
  text("op_type", metadata.op_type);
  text("op_name", metadata.op_name);
  text("source_file", metadata.source_file);
  number("source_line", metadata.source_line);
  number("source_end_line", metadata.source_end_line);
  number("source_column", metadata.source_column);
  number("source_end_column", metadata.source_end_column);
  number("stack_frame_id", metadata.stack_frame_id);
  Add('}');
}

void TextPrinter::Metadata(const proto::OpMetadata& metadata) {
  OpMetadata plain;
  plain.op_type = metadata.op_type();
  plain.op_name = metadata.op_name();
  plain.source_file = metadata.source_file();
  plain.source_line = metadata.source_line();
  plain.source_end_line = metadata.source_end_line();
  plain.source_column = metadata.source_column();
  plain.source_end_column = metadata.source_end_column();
  plain.stack_frame_id = metadata.stack_frame_id();
  const size_t begin = out_.size();
  Metadata(plain);
  out_.erase(begin, absl::string_view(", metadata=").size());
  out_.pop_back();
  const auto* profile = metadata.GetDescriptor()->FindFieldByName("profile_type");
  const google::protobuf::Reflection* reflection = metadata.GetReflection();
  const int profiles = reflection->FieldSize(metadata, profile);
  if (profiles > 0) {
    Add(" profile_type={");
    for (int i = 0; i < profiles; ++i) {
      if (i > 0) Add(',');
      Number(reflection->GetRepeatedEnumValue(metadata, profile, i));
    }
    Add('}');
  }
  const auto text = [&](absl::string_view name, const std::string& value) {
    if (value.empty()) return;
    Add(name);
    Quoted(value);
  };
  text(" deduplicated_name=", metadata.deduplicated_name());
  text(" scheduling_name=", metadata.scheduling_name());
  Add('}');
}

}  // namespace autotune
