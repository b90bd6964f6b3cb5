// Rules of the verifier that look at more than one operation: shardings, aliases, buffers,
// transfers, groups of devices, asynchronous chains. Each row is a program that XLA's verifier
// accepts or rejects.

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/parser.h"
#include "hlo/verifier.h"

namespace autotune {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* name;
  const char* header;  // behind "HloModule m"
  const char* computations;
  const char* entry;
  const char* error;  // "" for none
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class ProgramTest : public ::testing::TestWithParam<Case> {};

TEST_P(ProgramTest, IsAcceptedOrRejected) {
  const Case& c = GetParam();
  const std::string text = std::string("HloModule m") + c.header + "\n" + c.computations +
                           "\nENTRY e {\n" + c.entry + "\n}\n";
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(text);
  ASSERT_TRUE(module.ok()) << module.status();
  const std::vector<VerifierError> errors = VerifyModule(**module);
  if (*c.error == '\0') {
    for (const VerifierError& error : errors) ADD_FAILURE() << error.ToString();
    return;
  }
  ASSERT_FALSE(errors.empty()) << text;
  EXPECT_THAT(errors[0].message, HasSubstr(c.error));
}

constexpr char kLoop[] =
    "body { b = f32[4,8] parameter(0), sharding={devices=[2,1]0,1} ROOT n = f32[4,8] negate(b) }\n"
    "cond { c = f32[4,8] parameter(0) ROOT t = pred[] constant(true) }";
constexpr char kSum[] =
    "sum { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }";
constexpr char kTwo[] =
    "w { x = f32[4] parameter(0) y = f32[4] parameter(1) ROOT s = f32[4] add(x, y) }";
constexpr char kPin[] =
    "p = f32[4] parameter(0) b = b(f32[4]) custom-call(p), custom_call_target=\"Pin\", "
    "output_to_operand_aliasing={{}: (0, {})} ";
constexpr char kToken[] = "f = f32[4] parameter(0) t = token[] after-all() ";

#define UNPIN(b)                   \
  "ROOT r = f32[4] custom-call(" b \
  "), custom_call_target=\"Unpin\", output_to_operand_aliasing={{}: (0, {})}"

const Case kCases[] = {
    // Shardings.
    {"Tiles", "", "", "ROOT p = f32[4,8] parameter(0), sharding={devices=[2,1]0,1}", ""},
    {"TilesOfAnotherRank", "", "", "ROOT p = f32[4,8] parameter(0), sharding={devices=[2]0,1}",
     "the sharding splits 1 dimension(s) of f32[4,8]"},
    {"TilesWithSubgroups", "", "",
     "ROOT p = f32[4,8] parameter(0), sharding={devices=[2,1,2]0,1,2,3 last_tile_dims={manual}}",
     ""},
    {"TilesReplicated", "", "",
     "ROOT p = f32[4,8] parameter(0), sharding={devices=[2,2]0,1,2,3 last_tile_dim_replicate}",
     "the sharding splits 1 dimension(s)"},
    {"RangeOfTiles", "", "", "ROOT p = f32[4] parameter(0), sharding={devices=[2,2]<=[4]}",
     "the sharding splits 2 dimension(s) of f32[4]"},
    {"DeviceTwice", "", "", "ROOT p = f32[4] parameter(0), sharding={devices=[2]1,1}",
     "names device 1 twice"},
    {"NegativeDevice", "", "", "ROOT p = f32[4] parameter(0), sharding={devices=[2]-1,1}",
     "names device -1"},
    {"NamedSharding", "", "",
     "ROOT p = f32[4] parameter(0), sharding={mesh[\"a\"=2,\"b\"=4], [{\"a\"},{\"b\"}]}",
     "the sharding splits 2 dimension(s) of f32[4]"},
    {"NamedShardingOfThisRank", "", "",
     "ROOT p = f32[4] parameter(0), sharding={mesh[\"a\"=2,\"b\"=4], [{\"a\",\"b\"}]}", ""},
    {"ReplicatedMesh", "", "", "ROOT p = f32[4] parameter(0), sharding={mesh[\"a\"=2], replicated}",
     ""},
    {"TuplePart", "", "",
     "ROOT p = (f32[4], f32[]) parameter(0), sharding={{devices=[2]0,1}, {devices=[2]0,1}}",
     "the sharding splits 1 dimension(s) of f32[]"},
    {"LoopShardingsAgree", "", kLoop,
     "a = f32[4,8] parameter(0) ROOT l = f32[4,8] while(a), body=body, condition=cond, "
     "sharding={devices=[2,1]<=[2]}",
     ""},
    {"LoopShardingsDiffer", "", kLoop,
     "a = f32[4,8] parameter(0) ROOT l = f32[4,8] while(a), body=body, condition=cond, "
     "sharding={replicated}",
     "the shardings of 'l' and 'b' differ"},
    {"BranchShardingsDiffer", "",
     "x { p = f32[4] parameter(0) ROOT n = f32[4] negate(p), sharding={manual} }",
     "i = s32[] parameter(0) a = f32[4] parameter(1) ROOT c = f32[4] conditional(i, a), "
     "branch_computations={x}, sharding={replicated}",
     "the shardings of 'c' and 'n' differ"},

    // Aliases.
    {"MustAlias", ", input_output_alias={ {}: (0, {}, must-alias) }", "",
     "ROOT p = f32[4] parameter(0)", ""},
    {"MustAliasOfAnotherShape", ", input_output_alias={ {}: (0, {}, must-alias) }", "",
     "p = f32[4] parameter(0) ROOT r = f32[2,2] reshape(p)", "must put f32[2,2]"},
    {"MayAliasOfAnotherShape", ", input_output_alias={ {}: (0, {}, may-alias) }", "",
     "p = f32[4] parameter(0) ROOT r = f32[2,2] reshape(p)", ""},
    {"AliasOfATuple", ", input_output_alias={ {}: (0, {}) }", "", "ROOT p = (f32[4]) parameter(0)",
     "that is no array: (f32[4])"},
    {"AliasTwice", ", input_output_alias={ {0}: (0, {}), {1}: (0, {}) }", "",
     "p = f32[4] parameter(0) ROOT t = (f32[4], f32[4]) tuple(p, p)", "parameter 0 twice"},
    {"DonorIsAliased", ", input_output_alias={ {}: (0, {}) }, buffer_donor={ (0, {}) }", "",
     "ROOT p = f32[4] parameter(0)", "that input_output_alias names, too"},
    {"FusionAlias", "", "f { x = f32[4] parameter(0) ROOT n = f32[4] negate(x) }",
     "p = f32[4] parameter(0) ROOT r = f32[4] fusion(p), kind=kLoop, calls=f, "
     "output_to_operand_aliasing={{}: (0, {})}",
     ""},
    {"FusionAliasOfNoOperand", "", "f { x = f32[4] parameter(0) ROOT n = f32[4] negate(x) }",
     "p = f32[4] parameter(0) ROOT r = f32[4] fusion(p), kind=kLoop, calls=f, "
     "output_to_operand_aliasing={{}: (1, {})}",
     "names operand 1 of 1"},
    {"CustomCallAliasOfNoPart", "", "",
     "p = f32[4] parameter(0) ROOT r = f32[4] custom-call(p), custom_call_target=\"f\", "
     "output_to_operand_aliasing={{1}: (0, {})}",
     "a part of the result that is not there"},
    {"CustomCallAliasOfAnotherShape", "", "",
     "p = f32[4] parameter(0) ROOT r = f32[5] custom-call(p), custom_call_target=\"f\", "
     "output_to_operand_aliasing={{}: (0, {})}",
     "puts f32[5] where operand 0 has f32[4]"},
    {"CustomCallAliasUnchecked", "", "",
     "p = f32[4] parameter(0) ROOT r = f32[5] custom-call(p), custom_call_target=\"f\", "
     "output_to_operand_aliasing={{}: (0, {})}, "
     "frontend_attributes={xla_skip_custom_call_alias_shape_check=\"true\"}",
     ""},

    // Buffers.
    {"PinAndUnpin", "", "",
     "p = f32[4] parameter(0) b = b(f32[4]) custom-call(p), custom_call_target=\"Pin\", "
     "output_to_operand_aliasing={{}: (0, {})} " UNPIN("b"),
     ""},
    {"PinWithoutAlias", "", "",
     "p = f32[4] parameter(0) b = b(f32[4]) custom-call(p), custom_call_target=\"Pin\" " UNPIN("b"),
     "Pin needs output_to_operand_aliasing"},
    {"BufferAsParameter", "", "", "p = b(f32[4]) parameter(0) " UNPIN("p"),
     "parameter does not work on buffers"},

    // Transfers.
    {"CompositeWithoutName", "", "f { x = f32[4] parameter(0) ROOT n = f32[4] negate(x) }",
     "p = f32[4] parameter(0) ROOT r = f32[4] call(p), to_apply=f, is_composite=true",
     "needs a composite.name"},
    {"CompositeOfNegativeVersion", "", "f { x = f32[4] parameter(0) ROOT n = f32[4] negate(x) }",
     "p = f32[4] parameter(0) ROOT r = f32[4] call(p), to_apply=f, is_composite=true, "
     "frontend_attributes={composite.name=\"a.b\",composite.version=\"-1\"}",
     "must be a number from 0 on, is \"-1\""},
    {"Composite", "", "f { x = f32[4] parameter(0) ROOT n = f32[4] negate(x) }",
     "p = f32[4] parameter(0) ROOT r = f32[4] call(p), to_apply=f, is_composite=true, "
     "frontend_attributes={composite.name=\"a.b\",composite.version=\"1\"}",
     ""},
    {"CallHandsOnItsPrecision", "", "f { x = f32[4] parameter(0) ROOT n = f32[4] negate(x) }",
     "p = bf16[4] parameter(0) ROOT r = f32[4] call(p), to_apply=f",
     "parameter 0 of 'f' is f32[4], called with bf16[4]"},
    {"FusionIgnoresAnOperand", "", "f { x = f32[4] parameter(0) ROOT n = f32[4] negate(x) }",
     "p = f32[4] parameter(0) ROOT r = f32[4] fusion(p, p), kind=kLoop, calls=f", ""},

    // Groups of devices.
    {"GroupsHoldAllReplicas", ", replica_count=4", kSum,
     "p = f32[4] parameter(0) ROOT r = f32[4] all-reduce(p), replica_groups={{0,1},{2,3}}, "
     "to_apply=sum",
     ""},
    {"GroupsOfFewReplicas", ", replica_count=4", kSum,
     "p = f32[4] parameter(0) ROOT r = f32[4] all-reduce(p), replica_groups={{0,1}}, to_apply=sum",
     "replica_groups has 2 devices, the module 4"},
    {"PairsOutsideTheModule", ", replica_count=3", "",
     "p = f32[4] parameter(0) ROOT r = f32[4] collective-permute(p), source_target_pairs={{0,7}}",
     "names device 7 of 3"},
    {"GatherByGroup", "", "",
     "p = f32[4] parameter(0) ROOT r = f32[8] all-gather(p), replica_groups=[2,2]<=[4], "
     "dimensions={0}",
     ""},
    {"GatherByAnotherGroup", "", "",
     "p = f32[4] parameter(0) ROOT r = f32[8] all-gather(p), replica_groups=[1,4]<=[4], "
     "dimensions={0}",
     "all-gather between 4 devices cannot go from extent 4 to 8"},
    {"ScatterByAnotherGroup", "", kSum,
     "p = f32[8] parameter(0) ROOT r = f32[8] reduce-scatter(p), replica_groups={{0,1}}, "
     "dimensions={0}, to_apply=sum",
     "reduce-scatter between 2 devices cannot go from extent 8 to 8"},
    {"AllToAllOfFewOperands", "", "",
     "p = f32[8] parameter(0) ROOT r = (f32[8], f32[8]) all-to-all(p, p), "
     "replica_groups={{0,1,2}}",
     "all-to-all between 3 devices takes as many operands, got 2"},
    {"AllToAllUneven", "", "",
     "p = f32[8] parameter(0) ROOT r = f32[8] all-to-all(p), replica_groups={{0,1,2}}, "
     "dimensions={0}",
     "cannot split extent 8 between 3 devices"},
    {"PermuteStartOfAnotherShape", "", "",
     "p = f32[4] parameter(0) s = (f32[4], f32[5]) collective-permute-start(p), "
     "source_target_pairs={{0,1}} ROOT d = f32[5] collective-permute-done(s)",
     "collective-permute-start of f32[4] cannot give f32[5]"},
    {"ConstrainedAllReduces", "", kSum,
     "p = f32[4] parameter(0) q = f32[4] all-reduce(p), constrain_layout=true, to_apply=sum "
     "ROOT r = f32[4] all-reduce(q), to_apply=sum",
     "is constrained and that of 'r' is not"},

    // Asynchronous chains.
    {"AsyncWithoutAnOperand", "", kTwo,
     "p = f32[4] parameter(0) s = ((f32[4]), f32[4]) async-start(p), calls=w "
     "ROOT d = f32[4] async-done(s)",
     "gives 1 operand(s) to 'w', which takes 2"},
    {"AsyncOfTwoOperations", "",
     "w { x = f32[4] parameter(0) y = f32[4] negate(x) "
     "ROOT s = f32[4] add(x, y) }",
     "p = f32[4] parameter(0) s = ((f32[4]), f32[4]) async-start(p), calls=w "
     "ROOT d = f32[4] async-done(s)",
     "'w', which runs asynchronously, holds more than one operation"},
    {"AsyncOfTwoOperationsOnAThread", "",
     "w { x = f32[4] parameter(0) y = f32[4] negate(x) "
     "ROOT s = f32[4] add(x, y) }, execution_thread=\"t\"",
     "p = f32[4] parameter(0) s = ((f32[4]), f32[4]) async-start(p), calls=w, "
     "async_execution_thread=\"t\" ROOT d = f32[4] async-done(s)",
     ""},
    {"AsyncResultComesLater", "", kTwo,
     "p = f32[4] parameter(0) s = ((f32[4], f32[4]), ()) async-start(p, p), calls=w "
     "ROOT d = f32[4] async-done(s)",
     ""},
    {"AsyncDoneOfAnotherShape", "", kTwo,
     "p = f32[4] parameter(0) s = ((f32[4], f32[4]), ()) async-start(p, p), calls=w "
     "ROOT d = f32[5] async-done(s)",
     "declared as f32[5], but 'w' gives f32[4]"},

    // Results that are always written out.
    {"OriginOfNoPart", "", "", "ROOT p = f32[4] parameter(0), origin={({\"a\"}, {\"b\"})}",
     "origin names a part that f32[4] does not have"},
    {"SeedOfAnotherType", "", "", "ROOT r = u32[] custom-call(), custom_call_target=\"GetRngSeed\"",
     "GetRngSeed gives u64[], not u32[]"},
    {"TopKOutOfRange", "", "",
     "p = f32[4] parameter(0) ROOT r = (f32[5], s32[5]) topk(p), k=5, largest=true",
     "k=5 of topk is out of range"},
    {"TopKIndices", "", "",
     "p = f32[4] parameter(0) ROOT r = (f32[2], s64[2]) topk(p), k=2, largest=true",
     "but topk gives (f32[2], s32[2])"},
    {"RandomState", "", "", "ROOT r = u64[3] rng-get-and-update-state(), delta=1", "gives u64[2]"},
    {"RandomBitsChangeTheState", "", "",
     "p = u64[2] parameter(0) ROOT r = (u64[3], u32[4]) rng-bit-generator(p), "
     "algorithm=rng_default",
     "takes the state u64[2], but gives u64[3]"},
    {"StochasticConvert", "", "",
     "p = f32[4] parameter(0) q = u32[4] parameter(1) ROOT r = bf16[4] stochastic-convert(p, q)",
     ""},
    {"StochasticConvertByTooFewBits", "", "",
     "p = f32[4] parameter(0) q = u16[4] parameter(1) ROOT r = bf16[4] stochastic-convert(p, q)",
     "cannot stochastic-convert f32[4] to bf16[4] by u16[4]"},
    {"CopyStartOfAnotherShape", "", "",
     "p = f32[4] parameter(0) s = (f32[5], f32[4], u32[]) copy-start(p) "
     "ROOT d = f32[5] copy-done(s)",
     "but copy-start gives (f32[4], f32[4], u32[])"},
    {"Scan", "",
     "step { x = f32[] parameter(0) c = f32[] parameter(1) s = f32[] add(x, c) "
     "ROOT t = (f32[], f32[]) tuple(s, s) }",
     "p = f32[4] parameter(0) q = f32[] parameter(1) ROOT r = (f32[4], f32[]) scan(p, q), "
     "dimensions={0}, num_carries=1, to_apply=step",
     ""},
    {"ScanOfAnotherExtent", "",
     "step { x = f32[] parameter(0) c = f32[] parameter(1) "
     "s = f32[] add(x, c) ROOT t = (f32[], f32[]) tuple(s, s) }",
     "p = f32[4] parameter(0) q = f32[] parameter(1) ROOT r = (f32[5], f32[]) scan(p, q), "
     "dimensions={0}, num_carries=1, to_apply=step",
     "scan has 4 steps, but dimension 0 of f32[5]"},
    {"ScaledDot", "", "",
     "a = f8e4m3fn[4,64] parameter(0) b = f8e4m3fn[64,8] parameter(1) "
     "s = f8e8m0fnu[4,2] parameter(2) t = f8e8m0fnu[2,8] parameter(3) "
     "ROOT r = f32[4,8] scaled-dot(a, b, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     ""},
    {"ScaledDotOfOtherExtents", "", "",
     "a = f8e4m3fn[4,64] parameter(0) b = f8e4m3fn[32,8] parameter(1) "
     "s = f8e8m0fnu[4,2] parameter(2) t = f8e8m0fnu[2,8] parameter(3) "
     "ROOT r = f32[4,8] scaled-dot(a, b, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "the dot contracts extents 64 and 32"},
    {"ScaledDotOfUnevenBlocks", "", "",
     "a = f8e4m3fn[4,64] parameter(0) b = f8e4m3fn[64,8] parameter(1) "
     "s = f8e8m0fnu[4,3] parameter(2) t = f8e8m0fnu[2,8] parameter(3) "
     "ROOT r = f32[4,8] scaled-dot(a, b, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "is no multiple of its scales'"},
    {"ScaledDotScaleOfAnotherRank", "", "",
     "a = f8e4m3fn[4,64] parameter(0) b = f8e4m3fn[64,8] parameter(1) "
     "s = f8e8m0fnu[4] parameter(2) t = f8e8m0fnu[2,8] parameter(3) "
     "ROOT r = f32[4,8] scaled-dot(a, b, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "have another rank"},
    {"ScaledDotOneSide", "", "",
     "a = bf16[4,64] parameter(0) b = f8e4m3fn[64,8] parameter(1) "
     "s = bf16[1,1] parameter(2) t = f8e8m0fnu[2,8] parameter(3) "
     "ROOT r = f32[4,8] scaled-dot(a, b, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     ""},
    {"NoGroupsOfTheBatch", "", "",
     "a = f32[4,4] parameter(0) ROOT r = f32[4,4] convolution(a, a), dim_labels=bf_io->bf, "
     "batch_group_count=0",
     "must be positive"},
    {"RngOfTwoTypes", "", "",
     "a = f32[] parameter(0) b = bf16[] parameter(1) ROOT r = f32[4] rng(a, b), "
     "distribution=rng_uniform",
     "cannot make f32[4]"},
};

INSTANTIATE_TEST_SUITE_P(Table, ProgramTest, ::testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

std::string FirstError(const std::string& entry) {
  absl::StatusOr<std::unique_ptr<HloModule>> module =
      ParseHloText("HloModule m\nENTRY e {\n" + entry + "\n}\n");
  EXPECT_TRUE(module.ok()) << module.status();
  if (!module.ok()) return "";
  const std::vector<VerifierError> errors = VerifyModule(**module);
  return errors.empty() ? "" : errors[0].message;
}

TEST(VerifierRulesTest, ABufferHasOneWriter) {
  const auto call = [](const std::string& name, const std::string& of) {
    return name + " = b(f32[4]) custom-call(" + of +
           "), custom_call_target=\"w\", output_to_operand_aliasing={{}: (0, {})} ";
  };
  EXPECT_EQ(FirstError(kPin + call("c", "b") + UNPIN("c")), "");
  EXPECT_EQ(FirstError(kPin + call("c", "b") + call("d", "b") + UNPIN("c")),
            "a buffer has more than one writer");
  EXPECT_EQ(FirstError(std::string(kPin) +
                       "t = (b(f32[4])) tuple(b) "
                       "g = b(f32[4]) get-tuple-element(t), index=0 " +
                       call("c", "b") + UNPIN("g")),
            "a buffer has more than one writer");
  EXPECT_THAT(FirstError(std::string(kPin) + "c = b(f32[4]) custom-call(b), "
                                             "custom_call_target=\"w\" " UNPIN("c")),
              HasSubstr("must name the buffer in operand 0 once, not 0 times"));
}

TEST(VerifierRulesTest, HostTransfersOfAChannelAreAlike) {
  const auto send = [](const std::string& name, const std::string& token, const std::string& to) {
    return name + " = (f32[4], u32[], token[]) send(f, " + token +
           "), channel_id=1, is_host_transfer=true, frontend_attributes={to=\"" + to + "\"} " +
           name + "d = token[] send-done(" + name + "), channel_id=1, is_host_transfer=true ";
  };
  EXPECT_EQ(FirstError(kToken + send("a", "t", "x") + send("b", "ad", "x")), "");
  EXPECT_EQ(FirstError(kToken + send("a", "t", "x") + send("b", "ad", "y")),
            "host transfers 'a' and 'b' of channel 1 differ");
}

}  // namespace
}  // namespace autotune
