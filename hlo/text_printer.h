#ifndef AUTOTUNE_HLO_TEXT_PRINTER_H_
#define AUTOTUNE_HLO_TEXT_PRINTER_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "hlo/module.h"
#include "hlo/printer.h"

namespace autotune {

// The text form of parts of a module behind PrintHlo; not for use elsewhere. Appends to a string.
class TextPrinter {
 public:
  explicit TextPrinter(const PrintOptions& options) : options_(options) {}

  void Module(const HloModule& module);
  void Computation(const HloComputation& computation);
  // One line, without indentation and line end.
  void Instruction(const HloInstruction& instruction);

  std::string&& Take() { return std::move(out_); }

 private:
  using P = proto::HloInstructionProto;
  using Int64s = google::protobuf::RepeatedField<int64_t>;

  // --- text_printer.cc ---
  void Add(absl::string_view text) { out_.append(text.data(), text.size()); }
  void Add(char c) { out_.push_back(c); }
  void Number(int64_t value);
  void Double(double value);
  // "text" with escapes.
  void Quoted(absl::string_view text);
  // As it is where it reads back as one JSON object, else quoted.
  void QuotedOrJson(absl::string_view text);
  // `, name=`.
  void Begin(absl::string_view name);
  void Flag(absl::string_view name, bool value);
  void Int(absl::string_view name, int64_t value);
  template <typename Values>
  void Numbers(const Values& values, absl::string_view separator = ",");
  void Braced(absl::string_view name, const Int64s& values);
  void Name(const HloInstruction& instruction);
  void Name(const HloComputation& computation);
  void ShapeText(const Shape& shape);
  void Header(const HloModule& module);
  void Aliases(const proto::HloInputOutputAliasProto& aliases);
  void EntryLayout(const proto::ProgramShapeProto& layout);
  void RecoveryTable(const proto::OriginalValueRecoveryTableProto& table);
  void StackFrames(const proto::StackFrameIndexProto& tables);
  void Operands(const HloInstruction& instruction);

  // --- text_printer_attributes.cc ---
  void Attributes(const HloInstruction& instruction);
  void DimensionAttributes(const HloInstruction& instruction);
  void CallAttributes(const HloInstruction& instruction);
  void WindowAttributes(const HloInstruction& instruction, const P& p);
  void IndexingAttributes(const HloInstruction& instruction, const P& p);
  void ContractionAttributes(const HloInstruction& instruction, const P& p);
  void OperationAttributes(const HloInstruction& instruction, const P& p);
  void ChannelAttributes(const HloInstruction& instruction, const P& p);
  void CustomCallAttributes(const HloInstruction& instruction, const P& p);
  void CommonAttributes(const HloInstruction& instruction, const P& p);
  void Statistics(const proto::StatisticsViz& statistics);
  void VerbatimAttributes(const P& p);
  void Window(const proto::Window& window);
  void DimLabels(const proto::ConvolutionDimensionNumbers& numbers, const HloInstruction& of);
  void Padding(const proto::PaddingConfig& padding);
  void Precision(const proto::PrecisionConfig& precision);
  void Sparsity(const proto::SparsityConfig& sparsity);
  void OriginalArray(const proto::OriginalArrayProto& array);
  void OriginalValue(const proto::OriginalValueProto& value);
  void Metadata(const OpMetadata& metadata);
  void Metadata(const proto::OpMetadata& metadata);
  void FrontendAttributes(const proto::FrontendAttributes& attributes);
  void ResultAccuracy(const proto::ResultAccuracy& accuracy);
  void OutputAliasing(const P& p);

  // --- text_printer_sharding.cc ---
  void Sharding(const proto::OpSharding& sharding);
  void SimpleSharding(const proto::OpSharding& sharding);
  void NamedSharding(const proto::NamedShardingProto& sharding);
  void MeshText(const proto::MeshProto& mesh);
  void Axis(const proto::MeshProto& mesh, const proto::AxisRefProto& axis);
  void Axes(const proto::MeshProto& mesh,
            const google::protobuf::RepeatedPtrField<proto::AxisRefProto>& axes);
  void ShardingMetadata(const google::protobuf::RepeatedPtrField<proto::OpMetadata>& metadata,
                        absl::string_view prefix);
  void ReplicaGroups(const P& p);

  // --- text_printer_literal.cc ---
  void LiteralText(const Literal& literal);
  void LiteralDimension(const Literal& literal, absl::Span<const int64_t> strides,
                        int64_t dimension, int64_t offset);
  void Element(const Literal& literal, int64_t i);
  void FloatText(ElementType type, const char* bytes);
  // A literal of a protobuf, with its shape before it.
  void LiteralProtoText(const proto::LiteralProto& literal);

  const PrintOptions& options_;
  std::string out_;
  // The table of the module of the instruction that is being printed.
  const google::protobuf::RepeatedPtrField<std::string>* payloads_ = nullptr;
  // In canonical form: numbers of computations, and of instructions in theirs.
  absl::flat_hash_map<const HloComputation*, int64_t> computation_numbers_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HLO_TEXT_PRINTER_H_
