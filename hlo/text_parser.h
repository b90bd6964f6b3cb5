#ifndef AUTOTUNE_HLO_TEXT_PARSER_H_
#define AUTOTUNE_HLO_TEXT_PARSER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hlo/lexer.h"
#include "hlo/module_builder.h"
#include "hlo/name_uniquer.h"
#include "hlo/parser.h"
#include "hlo/text_attributes.h"

namespace autotune {

// The recursive-descent parser behind ParseHloText; not for use elsewhere.
//
// Map: text_parser.cc holds the basics (errors, tokens, lists), text_parser_module.cc the header,
// tables and computations, text_parser_instruction.cc instructions and operands,
// text_parser_finish.cc what each opcode adds to its attributes, text_parser_infer.cc shapes that
// are left out, text_parser_shape.cc shapes and layouts, text_parser_literal.cc constants, and
// text_parser_attributes.cc, text_parser_windows.cc and text_parser_sharding.cc the values of
// attributes.
//
// Every member that parses something returns false after it has recorded an error; the first error
// counts.
class TextParser {
 public:
  TextParser(ModuleBuilder* builder, const ParseOptions& options);

  // Parses the whole text into the builder.
  absl::Status ParseModule();
  // Parses a text that is one shape.
  absl::Status ParseLoneShape(Shape* shape);

  // The number of the unknown field of HloInstructionProto in which attributes that are not known
  // are kept, each as "name=value".
  static constexpr int kVerbatimAttributeField = 536870001;

 private:
  // Short names for the attribute table.
  using P = proto::HloInstructionProto;
  using D = proto::DotDimensionNumbers;
  using R = proto::RaggedDotDimensionNumbers;
  using G = proto::GatherDimensionNumbers;
  using S = proto::ScatterDimensionNumbers;
  using T = proto::TriangularSolveOptions;
  using Int64Field64 = google::protobuf::RepeatedField<int64_t>;
  using Int64s = absl::InlinedVector<int64_t, 8>;

  static constexpr int kMaxNesting = 100;

  // An instruction that is being parsed.
  struct Pending {
    HloInstruction* instruction = nullptr;
    ModuleBuilder::Instruction* f = nullptr;
    // Created on first use.
    proto::HloInstructionProto* attributes = nullptr;
    AttributeSet seen;
    // The opcode that the attributes belong to: the wrapped one of a sugared asynchronous
    // operation.
    HloOpcode opcode = HloOpcode::kUnknown;
    size_t offset = 0;
    // The offset where the attributes begin.
    size_t attributes_offset = 0;
    absl::InlinedVector<const HloInstruction*, 8> operands;
    absl::InlinedVector<const HloInstruction*, 4> control_predecessors;
    absl::InlinedVector<const HloComputation*, 4> computations;
    // Of a while loop; the false branch of a conditional.
    const HloComputation* condition = nullptr;
    std::string async_execution_thread;
    bool has_shape = false;
  };
  struct NamedInstruction {
    HloInstruction* instruction;
    size_t offset;
  };
  using NameTable = absl::flat_hash_map<absl::string_view, NamedInstruction>;
  // A computation whose instructions are being parsed.
  struct Scope {
    NameTable names;
    std::vector<const HloInstruction*> instructions;
    std::vector<const HloInstruction*> parameters;
    const HloInstruction* root = nullptr;
  };
  // Counts nesting while it lives.
  class Nested {
   public:
    explicit Nested(TextParser* parser) : parser_(parser) { ++parser_->nesting_; }
    ~Nested() { --parser_->nesting_; }
    // Records an error if the nesting is too deep.
    bool Ok();

   private:
    TextParser* parser_;
  };

  // --- text_parser.cc ---
  bool Fail(size_t offset, const std::string& message);
  bool FailHere(const std::string& message) { return Fail(lexer_.offset(), message); }
  // "expected WHAT, got ...".
  bool Expected(absl::string_view what);
  absl::Status ErrorStatus() const;
  bool Expect(Token token, absl::string_view context);
  bool Eat(Token token);
  bool EatKeyword(Keyword keyword);
  bool AtIdentifier(absl::string_view name) const {
    return lexer_.kind() == Token::kIdentifier && lexer_.text() == name;
  }
  bool Name(absl::string_view* name, absl::string_view what);
  bool Identifier(absl::string_view* name, absl::string_view what);
  bool Int64(int64_t* value);
  bool Int32(int32_t* value);
  bool Double(double* value);
  bool Bool(bool* value);
  // A string; a view into the text where it has no escapes.
  bool String(absl::string_view* value);
  bool StringOrJson(absl::string_view* value);
  // open item (delimiter item)* close, or open close.
  bool List(Token open, Token close, Token delimiter, absl::string_view what,
            absl::FunctionRef<bool()> item);
  // What the text holds up to the end of its last token.
  static absl::string_view UpToLastToken(absl::string_view text);
  bool BracedInt64s(Int64s* values);
  bool BracedInt64s(Int64Field64* values);
  bool ShapeIndex(Int64Field64* index);
  int32_t LineOf(size_t offset);

  // --- text_parser_module.cc ---
  bool Header(proto::HloModuleProto* module);
  bool HeaderAttribute(absl::string_view name, size_t offset, proto::HloModuleProto* module);
  bool InputOutputAlias(proto::HloInputOutputAliasProto* aliases);
  bool BufferDonor(proto::HloBufferDonorProto* donors);
  bool EntryLayout(proto::ProgramShapeProto* layout);
  bool BoolOrBools();
  bool OriginRecoveryTable(proto::OriginalValueRecoveryTableProto* table);
  bool StackFrameTables(proto::StackFrameIndexProto* tables);
  bool StringTable(google::protobuf::RepeatedPtrField<std::string>* strings);
  bool Int32Record(absl::Span<const absl::string_view> names, int32_t* values);
  bool Computations();
  bool Computation();
  bool ComputationSignature(const Shape** result, size_t* offset);
  // `{ instructions }`, a computation of its own.
  bool InstructionList(absl::string_view name, HloComputation** computation);
  bool FinishScope(absl::string_view name, HloComputation* computation);
  bool LoneInstruction();
  bool FinishModule(proto::HloModuleProto* module);
  void MakeNamesUnique();
  void AssignIds();
  void AddSchedule(proto::HloModuleProto* module);
  void CollectPayloads(proto::HloModuleProto* module);
  bool CheckAliases(proto::HloModuleProto* module);

  // --- text_parser_instruction.cc ---
  bool Instruction();
  bool InstructionRest(absl::string_view name, size_t name_offset, bool allow_attributes);
  bool Opcode(Pending* p, bool* async_sugar, HloOpcode* wrapped);
  bool OperandsOf(Pending* p);
  bool ParameterNumber(Pending* p);
  bool Operands(Pending* p);
  bool Operand(Pending* p);
  bool NamedOperand(Pending* p, bool* found);
  bool CheckOperandCount(const Pending& p, size_t offset);
  bool Attributes(Pending* p, const AttributeSet& allowed, const AttributeSet& required);
  bool OneAttribute(Pending* p, const AttributeSet& allowed);
  bool UnknownAttribute(Pending* p, absl::string_view name, size_t offset);
  bool SkipValue(bool in_header);
  bool AddInstruction(Pending* p, absl::string_view name, size_t name_offset);
  absl::string_view AnonymousName(HloOpcode opcode);
  HloInstruction* NewParameter(absl::string_view name, const Shape* shape, int64_t number);
  // The instruction of that name in the current computation, or null.
  const NamedInstruction* Find(absl::string_view name) const;
  proto::HloInstructionProto* AttributesOf(Pending* p);

  // --- text_parser_async.cc ---
  bool AsyncInstruction(Pending* p, HloOpcode wrapped, bool sugar, bool allow_attributes);
  bool WrapAsync(Pending* p, HloOpcode wrapped);
  void ShareWithWrapped(const Pending& p, const HloInstruction& wrapped);
  P* MutableAttributes(ModuleBuilder::Instruction* f);
  void SetThread(const HloComputation* callee, absl::string_view thread);
  bool CheckAsyncChain(const Pending& p, HloOpcode wrapped, bool sugar);

  // --- text_parser_finish.cc ---
  // Defaults and checks of the opcode after operands and attributes are there.
  bool FinishInstruction(Pending* p);
  bool FinishOperandChecks(Pending* p);
  bool FinishAttributes(Pending* p);
  bool FinishCollective(Pending* p);
  bool FinishCustomCall(Pending* p);
  bool FinishConditional(Pending* p);
  bool FinishScan(Pending* p);
  bool CheckChannel(const Pending& p);
  bool InferWhile(Pending* p);
  void FinishOrigin(Pending* p);
  bool FinishShape(Pending* p);
  bool FinishChannelShape(Pending* p);
  void DefaultPrecision(Pending* p, size_t operands);

  // --- text_parser_infer.cc ---
  // The shape of the result where the text leaves it out.
  bool InferResult(Pending* p);
  bool RoomForTuples(const Pending& p);
  // The elements of one of the module's shapes, nested ones and tuples included.
  int64_t NodesOf(const Shape& shape);

  // --- text_parser_shape.cc ---
  bool AtShape() const;
  bool InternedShape(const Shape** shape);
  bool ShapeValue(Shape* shape);
  bool TupleShape(Shape* shape);
  bool BufferShape(Shape* shape);
  bool ArrayDimensions(Shape* shape);
  bool LayoutValue(Layout* layout);
  bool LayoutDetails(Layout* layout);
  bool LayoutInt(int64_t* value);
  bool LayoutType(proto::PrimitiveType* type);
  bool Tiles(Layout* layout);
  bool Splits(Layout* layout);
  bool DimLevelTypes();
  // The offset behind the shape that begins at the current token, found by looking at characters
  // only; 0 if the shape is not plain enough for that.
  size_t PlainShapeEnd() const;

  // --- text_parser_literal.cc ---
  bool LiteralOf(const Shape* shape, Literal** literal);
  bool LiteralWithShape(Literal** literal);
  bool TupleLiteral(const Shape* shape, Literal* literal);
  bool ArrayLiteral(const Shape* shape, Literal* literal);
  struct DenseState;
  bool DenseToken(DenseState* state);
  bool DenseOpen(DenseState* state);
  bool DenseClose(DenseState* state);
  bool DenseDots(DenseState* state);
  bool DenseElement(DenseState* state);
  bool ComplexElement(DenseState* state);
  bool IntElement(DenseState* state, size_t offset);
  bool FloatElement(DenseState* state, size_t offset);
  bool StoreFloat(ElementType type, double value, size_t offset, char* to);

  // --- text_parser_attributes.cc ---
  bool Metadata(Pending* p);
  bool MetadataFields(proto::OpMetadata* metadata);
  bool MetadataField(absl::string_view name, size_t offset, OpMetadata* plain,
                     proto::OpMetadata** full);
  bool MetadataBody(OpMetadata* plain, proto::OpMetadata** full);
  bool SkipMetadataValue();
  bool BackendConfig(Pending* p);
  bool FrontendAttributes(Pending* p);
  bool FrontendAttributeMap(proto::FrontendAttributes* attributes);
  bool ControlPredecessors(Pending* p);
  bool Statistics(Pending* p);
  bool Origin(Pending* p);
  bool OriginalArray(proto::OriginalArrayProto* array);
  bool ParameterReplication(Pending* p);
  bool Dimensions(Pending* p);
  bool SingleDimension(Pending* p);
  bool ComputationReference(const HloComputation** computation);
  bool CalledComputation(Pending* p);
  bool SecondComputation(Pending* p);
  bool Condition(Pending* p);
  bool CalledComputationList(Pending* p);
  bool TupleIndex(Pending* p);
  bool FusionKind(Pending* p);
  bool ComparisonDirection(Pending* p);
  bool ComparisonType(Pending* p);
  bool OperandPrecision(Pending* p);
  bool Algorithm(Pending* p);
  bool IndexVectorDim(Pending* p);
  bool IsAssociative(Pending* p);
  bool ResultAccuracy(Pending* p);
  bool Tolerance(proto::ResultAccuracy::Tolerance* tolerance);
  bool Epsilon(Pending* p);
  bool FftType(Pending* p);
  bool Lower(Pending* p);
  bool TransposeA(Pending* p);
  bool Distribution(Pending* p);
  bool OutfeedShape(Pending* p);
  bool OutputAliasing(Pending* p);
  bool OperandLayoutConstraints(Pending* p);
  bool PaddingType(Pending* p);
  bool LiteralAttribute(Pending* p);
  bool CustomCallSchedule(Pending* p);
  bool CustomCallApiVersion(Pending* p);
  bool CollectiveMode(Pending* p);
  bool AsyncExecutionThread(Pending* p);
  template <void (P::*kSet)(int64_t)>
  bool Int64Field(Pending* p);
  template <void (P::*kSet)(int32_t)>
  bool Int32Field(Pending* p);
  template <void (P::*kSet)(bool)>
  bool BoolField(Pending* p);
  template <Int64Field64* (P::*kMutable)()>
  bool Int64ListField(Pending* p);
  template <std::string* (P::*kMutable)()>
  bool StringField(Pending* p);
  template <Int64Field64* (D::*kMutable)()>
  bool DotList(Pending* p);
  template <Int64Field64* (R::*kMutable)()>
  bool RaggedList(Pending* p);
  template <Int64Field64* (G::*kMutable)()>
  bool GatherList(Pending* p);
  template <Int64Field64* (S::*kMutable)()>
  bool ScatterList(Pending* p);
  template <void (T::*kSet)(bool)>
  bool SolveFlag(Pending* p);
  bool AttributeValue(Attribute attribute, Pending* p);

  // --- text_parser_windows.cc ---
  bool WindowAttribute(Pending* p);
  bool WindowFields(size_t offset, proto::Window* window);
  bool Sizes(absl::string_view name, Int64s* values);
  bool WindowPad(Int64s* low, Int64s* high);
  bool DimLabels(Pending* p);
  bool ConvolutionKind(Pending* p);
  bool Padding(Pending* p);
  bool SliceRanges(Pending* p);
  bool SliceSizes(Pending* p);
  bool SparsityConfig(Pending* p);
  bool TensorSparsity(proto::SparsityConfig::TensorSparsityConfig* config);

  // --- text_parser_sharding.cc and text_parser_mesh.cc ---
  bool ShardingAttribute(Pending* p);
  bool Sharding(proto::OpSharding* sharding);
  struct ShardingParts;
  bool SingleSharding(proto::OpSharding* sharding);
  bool ShardingItem(ShardingParts* parts);
  bool BuildSharding(size_t offset, ShardingParts* parts, proto::OpSharding* sharding);
  bool BuildTiled(size_t offset, ShardingParts* parts, proto::OpSharding* sharding);
  bool DevicesAttribute(ShardingParts* parts);
  bool RoomForDevices(size_t offset, int64_t count);
  bool IotaTail(Int64s* reshape, Int64s* transpose);
  bool IotaTranspose(size_t rank, Int64s* transpose);
  bool ShardingMetadata(google::protobuf::RepeatedPtrField<proto::OpMetadata>* metadata);
  bool ShardingTypes(google::protobuf::RepeatedField<int>* types);
  bool NamedSharding(proto::OpSharding* sharding);
  bool WholeNamedSharding(proto::NamedShardingProto* named);
  bool NamedShardingEnd(proto::NamedShardingProto* named);
  bool NamedShardingPart(proto::NamedShardingProto* named);
  bool DimShardings(proto::NamedShardingProto* sharding);
  bool Mesh(proto::MeshProto* mesh);
  bool MeshDeviceIds(proto::MeshProto* mesh);
  bool AxisRef(const proto::MeshProto& mesh, proto::AxisRefProto* axis);
  bool AxisRefs(const proto::MeshProto& mesh,
                google::protobuf::RepeatedPtrField<proto::AxisRefProto>* axes);
  bool MeshReplicaGroups(proto::MeshAxesReplicaGroupListProto* list);
  bool ReplicaGroups(Pending* p);
  bool SourceTargetPairs(Pending* p);
  bool Domain(Pending* p);

  ModuleBuilder* builder_;
  ParseOptions options_;
  Lexer lexer_;
  std::string error_;
  size_t error_offset_ = 0;
  bool has_error_ = false;
  int nesting_ = 0;
  // Tuples around the shape that is being read.
  int shape_nesting_ = 0;

  std::vector<Scope> scopes_;
  absl::flat_hash_map<absl::string_view, std::pair<HloComputation*, size_t>> computation_names_;
  // In the order in which they were finished.
  std::vector<HloComputation*> computations_;
  HloComputation* entry_ = nullptr;
  // Those that an async-start calls: one caller each.
  absl::flat_hash_set<const HloComputation*> async_computations_;
  // The thread that SetThread gave a computation last; whether there is one but "main".
  absl::flat_hash_map<const HloComputation*, absl::string_view> threads_;
  bool has_threads_ = false;
  // Whether some metadata has a payload.
  bool has_payloads_ = false;
  // Bytes of literals of which the text gives one value for all elements.
  size_t expanded_bytes_ = 0;
  // Elements of tuples whose shape the text leaves out, and what NodesOf counted.
  int64_t inferred_nodes_ = 0;
  absl::flat_hash_map<const Shape*, int64_t> tuple_nodes_;
  // Devices that the protobufs of shardings list although the text does not.
  int64_t listed_devices_ = 0;
  // A lone instruction: operands that are not there become parameters.
  bool lone_instruction_ = false;
  bool is_scheduled_ = false;
  // The header says something that XLA keeps in its configuration, but not the entry's layout: see
  // FinishModule.
  bool configures_ = false;
  // Names of instructions without one; filled with all others when first needed.
  NameUniquer anonymous_names_;
  bool has_anonymous_ = false;
  absl::flat_hash_map<absl::string_view, const Shape*> shape_cache_;
  // The last offset that LineOf was asked for, and its line.
  size_t line_offset_ = 0;
  int32_t line_ = 1;
  google::protobuf::RepeatedField<int64_t> scratch_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HLO_TEXT_PARSER_H_
