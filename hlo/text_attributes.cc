#include "hlo/text_attributes.h"

#include <bit>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace autotune {
namespace {

using A = Attribute;
using Op = HloOpcode;

constexpr absl::string_view kNames[] = {
#define AUTOTUNE_HLO_ATTRIBUTE(enumerator, name, parse) name,
#include "hlo/text_attribute_list.inc"
#undef AUTOTUNE_HLO_ATTRIBUTE
};

constexpr AttributeSet kCommon = {A::kMetadata,
                                  A::kBackendConfig,
                                  A::kSharding,
                                  A::kFrontendAttributes,
                                  A::kControlPredecessors,
                                  A::kStatistics,
                                  A::kOrigin,
                                  A::kParameterReplication};

// The numbers of gather and scatter share names, so which of the two is meant is not known where
// the opcode is not.
constexpr AttributeSet kIndexNumbers = {A::kOffsetDims,
                                        A::kCollapsedSliceDims,
                                        A::kStartIndexMap,
                                        A::kIndexVectorDim,
                                        A::kSliceSizes,
                                        A::kOperandBatchingDims,
                                        A::kStartIndicesBatchingDims,
                                        A::kUpdateWindowDims,
                                        A::kInsertedWindowDims,
                                        A::kScatterDimsToOperandDims,
                                        A::kInputBatchingDims,
                                        A::kScatterIndicesBatchingDims};

struct RuleRow {
  std::vector<HloOpcode> opcodes;
  AttributeSet required;
  AttributeSet optional;
};

// Opcodes that are not listed have the common attributes only.
std::vector<RuleRow> RuleRows() {
  return {
      {{Op::kIota}, {A::kIotaDimension}, {}},
      {{Op::kTopK}, {A::kK}, {A::kLargest}},
      {{Op::kAcos,  Op::kAcosh,    Op::kAsin, Op::kAsinh, Op::kAtanh, Op::kExpm1, Op::kLog,
        Op::kLog1p, Op::kLogistic, Op::kSqrt, Op::kCbrt,  Op::kRsqrt, Op::kTanh,  Op::kErf,
        Op::kSin,   Op::kSinh,     Op::kCos,  Op::kCosh,  Op::kTan,   Op::kExp},
       {},
       {A::kResultAccuracy}},
      {{Op::kAllGather, Op::kAllGatherStart},
       {A::kDimensions},
       {A::kReplicaGroups, A::kChannelId, A::kConstrainLayout, A::kUseGlobalDeviceIds}},
      {{Op::kAllReduce, Op::kAllReduceStart},
       {A::kToApply},
       {A::kReplicaGroups, A::kChannelId, A::kConstrainLayout, A::kUseGlobalDeviceIds, A::kMode}},
      {{Op::kReduceScatter},
       {A::kToApply, A::kDimensions},
       {A::kReplicaGroups, A::kChannelId, A::kConstrainLayout, A::kUseGlobalDeviceIds, A::kMode}},
      {{Op::kAllToAll},
       {},
       {A::kReplicaGroups, A::kChannelId, A::kDimensions, A::kConstrainLayout}},
      {{Op::kRaggedAllToAll}, {}, {A::kReplicaGroups, A::kChannelId, A::kDimensions}},
      {{Op::kCollectiveBroadcast}, {}, {A::kReplicaGroups, A::kChannelId}},
      {{Op::kCollectivePermute, Op::kCollectivePermuteStart},
       {A::kSourceTargetPairs},
       {A::kChannelId, A::kSliceSizes}},
      {{Op::kAsyncStart}, {A::kCalls}, {A::kAsyncExecutionThread, A::kOutputToOperandAliasing}},
      {{Op::kAsyncUpdate, Op::kAsyncDone}, {}, {A::kAsyncExecutionThread, A::kCalls}},
      {{Op::kCopyStart}, {}, {A::kCrossProgramPrefetchIndex}},
      {{Op::kReshape}, {}, {A::kInferredDimension}},
      {{Op::kSort}, {A::kDimensions, A::kToApply}, {A::kIsStable}},
      {{Op::kWhile}, {A::kCondition, A::kBody}, {}},
      {{Op::kRecv, Op::kRecvDone, Op::kSend, Op::kSendDone},
       {},
       {A::kChannelId, A::kIsHostTransfer}},
      {{Op::kGetTupleElement}, {A::kIndex}, {}},
      {{Op::kCall}, {A::kToApply}, {A::kIsComposite}},
      {{Op::kReduceWindow}, {A::kToApply}, {A::kWindow}},
      {{Op::kConvolution},
       {A::kDimLabels},
       {A::kWindow, A::kFeatureGroupCount, A::kBatchGroupCount, A::kConvolutionKind, A::kConvKind,
        A::kOperandPrecision, A::kSparsityConfig}},
      {{Op::kFft}, {A::kFftType, A::kFftLength}, {}},
      {{Op::kTriangularSolve}, {}, {A::kLeftSide, A::kLower, A::kUnitDiagonal, A::kTransposeA}},
      {{Op::kCholesky}, {}, {A::kLower}},
      {{Op::kCompare}, {A::kDirection}, {A::kType}},
      // Required unless the operand is a scalar, which the parser sees to.
      {{Op::kBroadcast}, {}, {A::kDimensions}},
      {{Op::kConcatenate, Op::kReverse, Op::kTranspose, Op::kGetDimensionSize,
        Op::kSetDimensionSize},
       {A::kDimensions},
       {}},
      {{Op::kMap}, {A::kToApply}, {A::kDimensions}},
      {{Op::kScan},
       {A::kToApply, A::kDimensions, A::kNumCarries},
       {A::kIsReverse, A::kIsAssociative}},
      {{Op::kReduce}, {A::kToApply, A::kDimensions}, {}},
      {{Op::kSelectAndScatter}, {A::kSelect, A::kScatter}, {A::kWindow}},
      {{Op::kSlice}, {A::kSlice}, {}},
      {{Op::kDynamicSlice}, {A::kDynamicSliceSizes}, {}},
      {{Op::kBatchNormTraining, Op::kBatchNormInference, Op::kBatchNormGrad},
       {A::kEpsilon, A::kFeatureIndex},
       {}},
      {{Op::kPad}, {A::kPadding}, {}},
      {{Op::kFusion}, {A::kCalls, A::kKind}, {A::kOutputToOperandAliasing}},
      {{Op::kInfeed}, {}, {A::kInfeedConfig}},
      {{Op::kOutfeed}, {}, {A::kOutfeedConfig, A::kOutfeedShape}},
      {{Op::kRng}, {A::kDistribution}, {}},
      {{Op::kRngGetAndUpdateState}, {A::kDelta}, {}},
      {{Op::kRngBitGenerator}, {A::kAlgorithm}, {}},
      {{Op::kReducePrecision}, {A::kExponentBits, A::kMantissaBits}, {}},
      // Which of the two forms is required depends on the first operand.
      {{Op::kConditional}, {}, {A::kTrueComputation, A::kFalseComputation, A::kBranchComputations}},
      {{Op::kCustomCall},
       {A::kCustomCallTarget},
       {A::kWindow, A::kDimLabels, A::kFeatureGroupCount, A::kBatchGroupCount,
        A::kOperandLayoutConstraints, A::kCustomCallHasSideEffect, A::kToApply,
        A::kCalledComputations, A::kOutputToOperandAliasing, A::kPaddingType, A::kLiteral,
        A::kOperandPrecision, A::kSchedule, A::kApiVersion}},
      {{Op::kDot, Op::kScaledDot},
       {},
       {A::kLhsContractingDims, A::kRhsContractingDims, A::kLhsBatchDims, A::kRhsBatchDims,
        A::kOperandPrecision, A::kAlgorithm}},
      {{Op::kRaggedDot},
       {},
       {A::kLhsContractingDims, A::kRhsContractingDims, A::kLhsBatchDims, A::kRhsBatchDims,
        A::kLhsRaggedDims, A::kRhsGroupDims, A::kOperandPrecision}},
      {{Op::kGather},
       {A::kOffsetDims, A::kCollapsedSliceDims, A::kStartIndexMap, A::kIndexVectorDim,
        A::kSliceSizes},
       {A::kIndicesAreSorted, A::kOperandBatchingDims, A::kStartIndicesBatchingDims}},
      {{Op::kScatter},
       {A::kUpdateWindowDims, A::kInsertedWindowDims, A::kScatterDimsToOperandDims,
        A::kIndexVectorDim, A::kToApply},
       {A::kIndicesAreSorted, A::kUniqueIndices, A::kInputBatchingDims,
        A::kScatterIndicesBatchingDims}},
      {{Op::kDomain}, {A::kDomain}, {}},
  };
}

std::vector<OpcodeRule> MakeRules() {
  std::vector<OpcodeRule> rules(static_cast<size_t>(HloOpcode::kUnknown) + 1);
  for (OpcodeRule& rule : rules) rule.allowed = kCommon;
  for (const RuleRow& row : RuleRows()) {
    for (const HloOpcode opcode : row.opcodes) {
      OpcodeRule& rule = rules[static_cast<size_t>(opcode)];
      rule.required = row.required;
      rule.allowed.InsertAll(row.required);
      rule.allowed.InsertAll(row.optional);
    }
  }
  // An opcode of a newer XLA may have any attribute; what is not listed here is kept verbatim.
  for (int i = 0; i < kAttributeCount; ++i) {
    const auto attribute = static_cast<Attribute>(i);
    if (!kIndexNumbers.Has(attribute)) rules.back().allowed.Insert(attribute);
  }
  return rules;
}

using AttributeMap = absl::flat_hash_map<absl::string_view, Attribute>;

AttributeMap MakeAttributeMap() {
  AttributeMap map;
  for (int i = 0; i < kAttributeCount; ++i) map.emplace(kNames[i], static_cast<Attribute>(i));
  return map;
}

}  // namespace

std::optional<Attribute> AttributeSet::FirstMissingFrom(const AttributeSet& other) const {
  for (int word = 0; word < 2; ++word) {
    const uint64_t missing = words_[word] & ~other.words_[word];
    if (missing != 0) return static_cast<Attribute>(word * 64 + std::countr_zero(missing));
  }
  return std::nullopt;
}

absl::string_view AttributeName(Attribute attribute) {
  return kNames[static_cast<size_t>(attribute)];
}

std::optional<Attribute> AttributeFromName(absl::string_view name) {
  static const AttributeMap& map = *new AttributeMap(MakeAttributeMap());
  const auto it = map.find(name);
  if (it == map.end()) return std::nullopt;
  return it->second;
}

const OpcodeRule& RuleOf(HloOpcode opcode) {
  static const std::vector<OpcodeRule>& rules = *new std::vector<OpcodeRule>(MakeRules());
  return rules[static_cast<size_t>(opcode)];
}

}  // namespace autotune
