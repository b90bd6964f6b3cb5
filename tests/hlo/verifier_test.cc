#include "hlo/verifier.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/parser.h"

namespace autotune {
namespace {

using ::testing::HasSubstr;

std::vector<VerifierError> Verify(const std::string& text) {
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? VerifyModule(**module) : std::vector<VerifierError>();
}

// A program of one instruction over parameters, and what is wrong with it ("" for nothing).
struct Case {
  const char* name;
  const char* parameters;  // separated by ';'
  const char* instruction;
  const char* error;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class InstructionTest : public ::testing::TestWithParam<Case> {};

TEST_P(InstructionTest, IsAcceptedOrRejected) {
  std::string text =
      "HloModule m\n"
      "sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }\n"
      "less { a = f32[] parameter(0)  b = f32[] parameter(1)"
      "  ROOT s = pred[] compare(a, b), direction=LT }\n"
      "neg { a = f32[8] parameter(0)  ROOT n = f32[8] negate(a) }\n"
      "yes { a = f32[8] parameter(0)  ROOT n = pred[] constant(true) }\n"
      "ENTRY e {\n";
  std::string parameter;
  int number = 0;
  for (const char* c = GetParam().parameters;; ++c) {
    if (*c != ';' && *c != '\0') {
      parameter += *c;
      continue;
    }
    if (!parameter.empty()) {
      absl::StrAppend(&text, "  p", number, " = ", parameter, " parameter(", number, ")\n");
      ++number;
    }
    parameter.clear();
    if (*c == '\0') break;
  }
  absl::StrAppend(&text, "  ROOT r = ", GetParam().instruction, "\n}\n");
  const std::vector<VerifierError> errors = Verify(text);
  if (*GetParam().error == '\0') {
    for (const VerifierError& error : errors) ADD_FAILURE() << error.ToString();
    return;
  }
  ASSERT_FALSE(errors.empty()) << text;
  EXPECT_THAT(errors[0].message, HasSubstr(GetParam().error));
  EXPECT_EQ(errors[0].instruction, "r");
  EXPECT_EQ(errors[0].line, 7 + number);
}

constexpr Case kCases[] = {
    {"Add", "f32[4];f32[4]", "f32[4] add(p0, p1)", ""},
    {"AddMixedPrecision", "f32[4];bf16[4]", "f32[4] add(p0, p1)", ""},
    {"AddExtents", "f32[4];f32[5]", "f32[4] add(p0, p1)", "different extents"},
    {"AddTypes", "f32[4];s32[4]", "f32[4] add(p0, p1)", "different element types: f32 and s32"},
    {"AddResult", "f32[4];f32[4]", "f32[5] add(p0, p1)",
     "declared as f32[5], but add gives f32[4]"},
    {"AddTuple", "(f32[4]);f32[4]", "f32[4] add(p0, p1)", "must be an array"},
    {"FloorOfIntegers", "s32[4]", "s32[4] floor(p0)", "floor does not work on s32"},
    {"AndOfFloats", "f32[4];f32[4]", "f32[4] and(p0, p1)", "and does not work on f32"},
    {"SignOfUnsigned", "u32[4]", "u32[4] sign(p0)", "sign does not work on u32"},
    {"AbsOfComplex", "c64[4]", "f32[4] abs(p0)", ""},
    {"AbsOfUnsigned", "u32[4]", "u32[4] abs(p0)", "abs does not work on u32"},
    {"NegateOfPredicates", "pred[4]", "pred[4] negate(p0)", "negate does not work on pred"},
    {"DivideOfPredicates", "pred[4];pred[4]", "pred[4] divide(p0, p1)",
     "divide does not work on pred"},
    {"CubeRootOfComplex", "c64[4]", "c64[4] cbrt(p0)", "cbrt does not work on c64"},
    {"RemainderOfComplex", "c64[4];c64[4]", "c64[4] remainder(p0, p1)", ""},
    {"Compare", "f32[4];f32[4]", "pred[4] compare(p0, p1), direction=GE", ""},
    {"Select", "pred[];f32[4];f32[4]", "f32[4] select(p0, p1, p2)", ""},
    {"SelectExtents", "pred[3];f32[4];f32[4]", "f32[4] select(p0, p1, p2)", "operand 0 of select"},
    {"Clamp", "f32[];f32[4];f32[]", "f32[4] clamp(p0, p1, p2)", ""},
    {"Convert", "f32[4]", "s8[4] convert(p0)", ""},
    {"ConvertExtents", "f32[4]", "s8[5] convert(p0)", "cannot convert"},
    {"BitcastConvertNarrow", "f32[4]", "u8[4,4] bitcast-convert(p0)", ""},
    {"BitcastConvertWrong", "f32[4]", "u8[4,3] bitcast-convert(p0)", "cannot bitcast-convert"},
    {"Broadcast", "f32[4]", "f32[3,4] broadcast(p0), dimensions={1}", ""},
    {"BroadcastWrong", "f32[4]", "f32[3,4] broadcast(p0), dimensions={0}", "broadcast puts"},
    {"Reshape", "f32[4,3]", "f32[12] reshape(p0)", ""},
    {"ReshapeWrong", "f32[4,3]", "f32[13] reshape(p0)", "cannot reshape f32[4,3] to f32[13]"},
    {"Transpose", "f32[4,3]", "f32[3,4] transpose(p0), dimensions={1,0}", ""},
    {"TransposeTwice", "f32[4,3]", "f32[3,4] transpose(p0), dimensions={1,1}",
     "names dimension 1 twice"},
    {"Slice", "f32[10]", "f32[3] slice(p0), slice={[1:9:3]}", ""},
    {"SliceBeyond", "f32[10]", "f32[10] slice(p0), slice={[1:11]}", "does not fit"},
    {"Concatenate", "f32[2,3];f32[2,5]", "f32[2,8] concatenate(p0, p1), dimensions={1}", ""},
    {"ConcatenateWrong", "f32[2,3];f32[3,5]", "f32[2,8] concatenate(p0, p1), dimensions={1}",
     "cannot concatenate"},
    {"Pad", "f32[4];f32[]", "f32[10] pad(p0, p1), padding=1_2_1", ""},
    {"PadWrong", "f32[4];f32[]", "f32[11] pad(p0, p1), padding=1_2_1", "pad gives f32[10]"},
    {"Reduce", "f32[4,5];f32[]", "f32[4] reduce(p0, p1), dimensions={1}, to_apply=sum", ""},
    {"ReduceRange", "f32[4,5];f32[]", "f32[4] reduce(p0, p1), dimensions={2}, to_apply=sum",
     "names dimension 2"},
    {"ReduceInit", "f32[4,5];f32[1]", "f32[4] reduce(p0, p1), dimensions={1}, to_apply=sum",
     "initial value"},
    {"ReduceWindow", "f32[9];f32[]",
     "f32[5] reduce-window(p0, p1), window={size=3 stride=2 pad=1_1}, to_apply=sum", ""},
    {"ReduceWindowWrong", "f32[9];f32[]",
     "f32[4] reduce-window(p0, p1), window={size=3 stride=2 pad=1_1}, to_apply=sum",
     "gives f32[5]"},
    {"Dot", "f32[2,3];f32[3,4]",
     "f32[2,4] dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}", ""},
    {"DotInt8", "s8[2,3];s8[3,4]",
     "s32[2,4] dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}", ""},
    {"DotContracts", "f32[2,3];f32[5,4]",
     "f32[2,4] dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "contracts extents 3 and 5"},
    {"Convolution", "f32[2,9,8];f32[3,8,16]",
     "f32[2,9,16] convolution(p0, p1), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f", ""},
    {"ConvolutionFeatures", "f32[2,9,8];f32[3,7,16]",
     "f32[2,9,16] convolution(p0, p1), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f",
     "8 features"},
    {"ConvolutionGroups", "f32[2,9,8];f32[3,2,16]",
     "f32[2,9,16] convolution(p0, p1), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f, "
     "feature_group_count=4",
     ""},
    {"ConvolutionWindow", "f32[2,9,8];f32[3,8,16]",
     "f32[2,8,16] convolution(p0, p1), window={size=2}, dim_labels=b0f_0io->b0f",
     "is not the kernel's extent 3"},
    {"Gather", "f32[10,5];s32[7,1]",
     "f32[7,5] gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,5}",
     ""},
    {"GatherSizes", "f32[10,5];s32[7,1]",
     "f32[7,5] gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,6}",
     "gather slice size 6"},
    {"GatherFloatIndices", "f32[10,5];f32[7,1]",
     "f32[7,5] gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
     "index_vector_dim=1, slice_sizes={1,5}",
     "indices must be integral"},
    {"Scatter", "f32[10,5];s32[7,1];f32[7,5]",
     "f32[10,5] scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum",
     ""},
    {"ScatterUpdates", "f32[10,5];s32[7,1];f32[7]",
     "f32[10,5] scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum",
     "do not fit the operand"},
    {"DynamicSlice", "f32[10,5];s32[];s32[]",
     "f32[2,5] dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2,5}", ""},
    {"DynamicSliceIndices", "f32[10,5];f32[];f32[]",
     "f32[2,5] dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2,5}", "must be integral"},
    {"DynamicUpdateSlice", "f32[10];f32[2];s32[]", "f32[10] dynamic-update-slice(p0, p1, p2)", ""},
    {"Sort", "f32[10]", "f32[10] sort(p0), dimensions={0}, to_apply=less", ""},
    {"SortComparator", "f32[10]", "f32[10] sort(p0), dimensions={0}, to_apply=sum",
     "must return pred[]"},
    {"Iota", "", "s32[4] iota(), iota_dimension=0", ""},
    {"IotaRange", "", "s32[4] iota(), iota_dimension=1", "iota_dimension"},
    {"While", "f32[8]", "f32[8] while(p0), condition=yes, body=neg", ""},
    {"WhileCondition", "f32[8]", "f32[8] while(p0), condition=neg, body=neg", "must return pred[]"},
    {"CallArguments", "f32[9]", "f32[8] call(p0), to_apply=neg", "parameter 0 of 'neg' is f32[8]"},
    {"ConditionalResult", "s32[];f32[8]",
     "f32[9] conditional(p0, p1, p1), branch_computations={neg, neg}",
     "branch 'neg' returns f32[8]"},
    {"TupleElement", "(f32[8], s32[])", "s32[] get-tuple-element(p0), index=1", ""},
    {"TupleElementType", "(f32[8], s32[])", "f32[] get-tuple-element(p0), index=1", "gives s32[]"},
    {"Rfft", "f32[4,16]", "c64[4,9] fft(p0), fft_type=RFFT, fft_length={16}", ""},
    {"RfftWrong", "f32[4,16]", "c64[4,16] fft(p0), fft_type=RFFT, fft_length={16}",
     "gives c64[4,9]"},
    {"AllGather", "f32[4,8]",
     "f32[16,8] all-gather(p0), replica_groups={{0,1,2,3}}, dimensions={0}", ""},
    {"AllGatherWrong", "f32[4,8]",
     "f32[15,8] all-gather(p0), replica_groups={{0,1,2,3}}, dimensions={0}", "cannot give"},
    {"AllReduceTwice", "f32[4]", "f32[4] all-reduce(p0), replica_groups={{0,0}}, to_apply=sum",
     "names device 0 twice"},
    {"PermuteTwice", "f32[4]", "f32[4] collective-permute(p0), source_target_pairs={{0,1},{0,2}}",
     "is a source twice"},
    {"PermuteNegative", "f32[4]", "f32[4] collective-permute(p0), source_target_pairs={{0,-1}}",
     "names device -1"},
    // Each slice that is moved in place may have a pair of its own.
    {"PermuteInPlace", "f32[4];f32[4];((s32[]), (s32[]));((s32[]), (s32[]))",
     "f32[4] collective-permute(p0, p1, p2, p3), source_target_pairs={{0,1},{0,2}}, "
     "slice_sizes={{2},{2}}",
     ""},
    {"PermuteInPlaceTooOften", "f32[4];f32[4];((s32[]), (s32[]));((s32[]), (s32[]))",
     "f32[4] collective-permute(p0, p1, p2, p3), source_target_pairs={{0,1},{0,2},{0,3}}, "
     "slice_sizes={{2},{2}}",
     "device 0 is a source more often than it has slices"},
    {"AllReduceGap", "f32[4]", "f32[4] all-reduce(p0), replica_groups={{0,2}}, to_apply=sum",
     "names device 2, but has 2 devices"},
    {"AllReduceEmptyGroup", "f32[4]", "f32[4] all-reduce(p0), replica_groups={{}}, to_apply=sum",
     "empty group"},
    {"AllReduceUneven", "f32[4]", "f32[4] all-reduce(p0), replica_groups={{0},{1,2}}, to_apply=sum",
     ""},
    {"AllReduceNoGroups", "f32[4]",
     "f32[4] all-reduce(p0), channel_id=1, use_global_device_ids=true, replica_groups={}, "
     "to_apply=sum",
     "needs replica_groups"},
    {"AllGatherUneven", "f32[4,8]",
     "f32[16,8] all-gather(p0), replica_groups={{0},{1,2}}, dimensions={0}", "different sizes"},
    {"FftOfAnyLength", "c64[4,16]", "c64[4,16] fft(p0), fft_type=FFT, fft_length={8}", ""},
    {"GatherBatchIsIndexed", "s32[4,2];s32[4,40,1]",
     "s32[4,40,2] gather(p0, p1), offset_dims={2}, collapsed_slice_dims={}, start_index_map={0}, "
     "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=2, "
     "slice_sizes={1,2}",
     ""},
    {"SparseConvolution", "f32[2,4];(f32[2,3], s32[2,3])",
     "f32[2,3] convolution(p0, p1), dim_labels=bf_io->bf, "
     "sparsity_config={rhs={sparsity=2x4 dimension=0 stride=1}}",
     ""},
    {"RngTypes", "f32[];s32[]", "f32[4] rng(p0, p1), distribution=rng_uniform", "cannot make"},
    {"RngNormalOfIntegers", "s32[];s32[]", "s32[4] rng(p0, p1), distribution=rng_normal",
     "no normal numbers of s32"},
    {"CompareType", "s32[4];s32[4]", "pred[4] compare(p0, p1), direction=GE, type=UNSIGNED",
     "comparison of s32 cannot be of type UNSIGNED"},
    {"CopyDoneOfParameter", "(f32[4], f32[4], u32[])", "f32[4] copy-done(p0)",
     "copy-done cannot take parameter 'p0'"},
    {"AllReduceDoneOfParameter", "f32[4]", "f32[4] all-reduce-done(p0)", "cannot take parameter"},
    {"CopyStartAlone", "f32[4]", "(f32[4], f32[4], u32[]) copy-start(p0)",
     "needs one user, its done; got 0"},
};

INSTANTIATE_TEST_SUITE_P(Table, InstructionTest, ::testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(VerifierTest, EntryLayoutMustFit) {
  const auto errors = Verify(
      "HloModule m, entry_computation_layout={(f32[5]{0})->f32[4]{0}}\n"
      "ENTRY e {\n  ROOT p = f32[4] parameter(0)\n}\n");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0].message, HasSubstr("entry_computation_layout gives parameter 0 as f32[5]"));
}

// What is wrong with the program: the first error, or "".
std::string FirstError(const std::string& text) {
  const std::vector<VerifierError> errors = Verify(text);
  return errors.empty() ? "" : errors[0].instruction + ": " + errors[0].message;
}

TEST(VerifierTest, AStartHasOneDone) {
  const std::string begin =
      "HloModule m\nENTRY e { a = f32[4] parameter(0) "
      "s = (f32[4], f32[4], u32[]) copy-start(a) d = f32[4] copy-done(s) ";
  EXPECT_EQ(FirstError(begin + "ROOT r = f32[4] negate(d) }"), "");
  EXPECT_EQ(FirstError(begin + "f = f32[4] copy-done(s) ROOT r = f32[4] add(d, f) }"),
            "s: copy-start needs one user, its done; got 2");
  EXPECT_EQ(FirstError("HloModule m\nENTRY e { a = f32[4] parameter(0) s = (f32[4], f32[4], u32[]) "
                       "copy-start(a) ROOT d = f32[4] get-tuple-element(s), index=0 }"),
            "s: copy-start cannot be used by get-tuple-element 'd'");
}

TEST(VerifierTest, AnAsyncStartFitsWhatItWraps) {
  const auto program = [](const std::string& start) {
    return "HloModule m\nw { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }\n"
           "ENTRY e { a = f32[4] parameter(0) b = f32[5] parameter(1) " +
           start + " ROOT d = f32[4] async-done(s) }";
  };
  EXPECT_EQ(FirstError(program("s = ((f32[4]), f32[4], u32[]) async-start(a), calls=w")), "");
  EXPECT_EQ(FirstError(program("s = ((f32[4]), f32[4], u32[]) async-start(b), calls=w")),
            "s: operand 0 is declared as f32[4], but is f32[5]");
  EXPECT_EQ(FirstError(program("s = ((f32[5]), f32[4], u32[]) async-start(b), calls=w")),
            "s: 'w' does not take operand 0, f32[5]");
  EXPECT_EQ(FirstError(program("s = ((f32[4], f32[4]), f32[4]) async-start(a), calls=w")),
            "s: declared with 2 operand(s), got 1");
  EXPECT_EQ(FirstError(program("s = ((f32[4]), f32[5], u32[]) async-start(a), calls=w")),
            "s: the result is declared as f32[5], but 'w' gives f32[4]");
}

TEST(VerifierTest, CallersAndCalleesRunOnOneThread) {
  const std::string callee =
      "HloModule m\nf { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }, "
      "execution_thread=\"t\"\n";
  EXPECT_EQ(FirstError(callee + "ENTRY e { a = f32[4] parameter(0) "
                                "ROOT c = f32[4] call(a), to_apply=f }"),
            "c: call on the thread \"main\" calls 'f' on the thread \"t\"");
  EXPECT_EQ(FirstError(callee + "ENTRY e { a = f32[4] parameter(0) s = ((f32[4]), f32[4]) "
                                "async-start(a), calls=f, async_execution_thread=\"t\" "
                                "ROOT d = f32[4] async-done(s) }"),
            "");
}

TEST(VerifierTest, AliasMustNameAParameter) {
  const auto errors = Verify(
      "HloModule m, input_output_alias={ {}: (1, {}, may-alias) }\n"
      "ENTRY e {\n  ROOT p = f32[4] parameter(0)\n}\n");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0].message, HasSubstr("input_output_alias names parameter 1 of 1"));
}

TEST(VerifierTest, StatusNamesFileAndLine) {
  auto module =
      ParseHloText("ENTRY e {\n  p = f32[4] parameter(0)\n  ROOT r = f32[5] negate(p)\n}\n");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(VerifyStatus(**module, "a.hlo").message(),
            "a.hlo:3: 'r' in 'e': declared as f32[5], but negate gives f32[4]");
}

TEST(VerifierTest, ErrorsAreCapped) {
  std::string text = "ENTRY e {\n  p = f32[4] parameter(0)\n";
  for (int i = 0; i < 50; ++i) absl::StrAppend(&text, "  a", i, " = f32[5] negate(p)\n");
  text += "  ROOT r = f32[4] negate(p)\n}\n";
  auto module = ParseHloText(text);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(VerifyModule(**module, 7).size(), 7u);
  EXPECT_EQ(VerifyModule(**module, 100).size(), 50u);
}

}  // namespace
}  // namespace autotune
