#include <cmath>
#include <string>

#include "absl/strings/ascii.h"
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
  if (p.channel_id() != 0) Int("channel_id", p.channel_id());
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
  if (options_.metadata && instruction.has_metadata()) {
    payloads_ = &instruction.parent().module().attributes().payloads();
    Metadata(instruction.metadata());
  }
  if (options_.metadata && p.has_original_value()) OriginalValue(p.original_value());
  if (options_.metadata) Statistics(p.statistics_viz());
  if (options_.backend_config && !instruction.backend_config().empty()) {
    Begin("backend_config");
    QuotedOrJson(instruction.backend_config());
  }
  VerbatimAttributes(p);
}

void TextPrinter::Statistics(const proto::StatisticsViz& statistics) {
  if (statistics.statistics().empty() && statistics.stat_index_to_visualize() == 0) return;
  Begin("statistics");
  Add("{visualizing_index=");
  Number(statistics.stat_index_to_visualize());
  for (const proto::Statistic& statistic : statistics.statistics()) {
    Begin(statistic.stat_name());
    // The grammar has no infinities here, but numbers that are too large are taken for them.
    const double value = statistic.stat_val();
    if (std::isinf(value)) {
      Add(value < 0 ? "-1e999" : "1e999");
    } else {
      Double(value);
    }
  }
  Add('}');
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

}  // namespace autotune
