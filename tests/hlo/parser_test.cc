#include "hlo/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "hlo/printer.h"

namespace autotune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::unique_ptr<HloModule> Parse(const std::string& text) {
  auto module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : nullptr;
}

TEST(ParserTest, KeepsOrderNamesAndLines) {
  const auto module = Parse(R"(HloModule m, is_scheduled=true, replica_count=2

body {
  p = f32[2]{0} parameter(0)
  ROOT n = f32[2]{0} negate(p)
}

ENTRY e {
  a = f32[2]{0} parameter(0)
  c = f32[2]{0} call(a), to_apply=body
  b = f32[2]{0} exponential(a), metadata={op_name="x/y" stack_frame_id=3}
  ROOT d = f32[2]{0} add(b, c), control-predecessors={c}, backend_config={"k":1}
}
)");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->name(), "m");
  EXPECT_TRUE(module->is_scheduled());
  EXPECT_EQ(module->replica_count(), 2);
  EXPECT_EQ(module->instruction_count(), 6);
  const HloComputation& entry = module->entry_computation();
  EXPECT_EQ(entry.line(), 8);
  EXPECT_TRUE(entry.IsEntry());
  std::vector<std::string> names;
  for (const HloInstruction* i : entry.instructions()) names.emplace_back(i->name());
  EXPECT_THAT(names, ElementsAre("a", "c", "b", "d"));
  const HloInstruction& d = entry.root();
  EXPECT_EQ(d.line(), 12);
  EXPECT_EQ(d.opcode(), HloOpcode::kAdd);
  EXPECT_THAT(d.operands(), ElementsAre(entry.FindInstruction("b"), entry.FindInstruction("c")));
  EXPECT_THAT(d.control_predecessors(), ElementsAre(entry.FindInstruction("c")));
  EXPECT_EQ(d.backend_config(), "{\"k\":1}");
  const HloInstruction& a = *entry.FindInstruction("a");
  EXPECT_THAT(a.users(), ElementsAre(entry.FindInstruction("c"), entry.FindInstruction("b")));
  EXPECT_EQ(&a.shape(), &d.shape()) << "equal shapes are one object";
  EXPECT_EQ(entry.FindInstruction("b")->metadata().op_name, "x/y");
  EXPECT_EQ(entry.FindInstruction("b")->metadata().stack_frame_id, 3);
  const HloComputation& body = *entry.FindInstruction("c")->called_computations()[0];
  EXPECT_EQ(body.name(), "body");
  EXPECT_THAT(body.callers(), ElementsAre(entry.FindInstruction("c")));
  EXPECT_THAT(body.parameters(), ElementsAre(body.FindInstruction("p")));
}

TEST(ParserTest, MakesNamesUniqueAsXlaDoes) {
  const auto module = Parse(R"(HloModule m
f { a = f32[] parameter(0) ROOT a.01 = f32[] add(a, a) }
ENTRY f.0 { a = f32[] parameter(0) ROOT b = f32[] call(a), to_apply=f }
)");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->computations()[0]->instructions()[1]->name(), "a.1");
  EXPECT_EQ(module->entry_computation().parameters()[0]->name(), "a.2");
  EXPECT_EQ(module->entry_computation().name(), "f.1");
}

TEST(ParserTest, LoneInstructionGetsParameters) {
  const auto module = Parse("f32[4] add(f32[4] x, f32[4] multiply(f32[4] y, f32[4] z))");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->entry_computation().root().opcode(), HloOpcode::kAdd);
  EXPECT_EQ(module->entry_computation().root().operand(1).opcode(), HloOpcode::kMultiply);
}

TEST(ParserTest, CountsElidedConstants) {
  const auto module = Parse(R"(ENTRY e {
  a = f32[1000000]{0} constant({...})
  b = f32[2]{0} constant({1, 2})
  ROOT t = (f32[1000000]{0}, f32[2]{0}) tuple(a, b)
})");
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->elided_constant_count(), 1);
  EXPECT_TRUE(module->entry_computation().FindInstruction("a")->has_elided_literal());
  EXPECT_FALSE(module->entry_computation().FindInstruction("b")->has_elided_literal());
  // The mark survives the protobuf.
  const auto again = HloModule::FromProto(module->ToProto());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->elided_constant_count(), 1);
}

TEST(ParserTest, LiteralsLieInLayoutOrder) {
  const auto module = Parse("ENTRY e { ROOT c = s32[2,3]{0,1} constant({{1,2,3},{4,5,6}}) }");
  ASSERT_NE(module, nullptr);
  const Literal& literal = *module->entry_computation().root().literal();
  std::vector<int64_t> values;
  for (int64_t i = 0; i < 6; ++i) values.push_back(literal.AsInt64(i));
  EXPECT_THAT(values, ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(ParserTest, UnknownNamesAreErrorsOrKept) {
  const std::string text = R"(HloModule m, new_thing={a,{b}}

ENTRY %e (a: f32[2]) -> f32[2] {
  %a = f32[2]{0} parameter(0), shiny={x=1, y=[2,3]}
  ROOT %b = f32[2]{0} brand-new-op(%a), window={size=2}, glow="yes"
}
)";
  EXPECT_THAT(std::string(ParseHloText(text).status().message()),
              HasSubstr("unknown module attribute \"new_thing\""));
  const auto module = ParseHloText(text, {.keep_unknown = true});
  ASSERT_TRUE(module.ok()) << module.status();
  const HloInstruction& root = (*module)->entry_computation().root();
  EXPECT_EQ(root.opcode(), HloOpcode::kUnknown);
  EXPECT_EQ(root.opcode_name(), "brand-new-op");
  const std::string printed = PrintHlo(**module);
  EXPECT_THAT(printed, HasSubstr("new_thing={a,{b}}"));
  EXPECT_THAT(printed, HasSubstr("shiny={x=1, y=[2,3]}"));
  EXPECT_THAT(printed, HasSubstr("brand-new-op(%a), window={size=2}, glow=\"yes\""));
  const auto again = ParseHloText(printed, {.keep_unknown = true});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintHlo(**again), printed);
}

// Gather and scatter both have an index_vector_dim: that of an unknown opcode is of neither.
TEST(ParserTest, IndexNumbersOfUnknownOpcodesAreKept) {
  const auto module = ParseHloText(
      "f32[4] new-scatter(f32[4] a), inserted_window_dims={0}, index_vector_dim=1, slice_sizes={2}",
      {.keep_unknown = true});
  ASSERT_TRUE(module.ok()) << module.status();
  const std::string printed = PrintHlo(**module);
  EXPECT_THAT(printed, HasSubstr("inserted_window_dims={0}, index_vector_dim=1, slice_sizes={2}"));
  const auto again = ParseHloText(printed, {.keep_unknown = true});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintHlo(**again), printed);
}

struct Rejection {
  std::string text;
  // "LINE:COLUMN: message", or a part of it.
  std::string error;
};

// Without this, names of tests would be the bytes of pointers and differ from run to run.
void PrintTo(const Rejection& rejection, std::ostream* out) {
  *out << '"' << absl::CHexEscape(std::string(rejection.text).substr(0, 60)) << '"';
}

class RejectionTest : public ::testing::TestWithParam<Rejection> {};

TEST_P(RejectionTest, SaysWhereAndWhat) {
  const auto module = ParseHloText(GetParam().text, {.file_name = "f.hlo"});
  ASSERT_FALSE(module.ok()) << GetParam().text;
  EXPECT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(module.status().message()), StartsWith("f.hlo:" + GetParam().error));
}

std::string InEntry(const std::string& line) {
  return "HloModule m\nENTRY e {\n  a = f32[2,3]{1,0} parameter(0)\n  " + line + "\n}\n";
}

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

const Rejection kRejections[] = {
    {"", "1:1: the text is empty"},
    {"HloModule", "1:10: expected the name of the module, got the end of the text"},
    {"HloModule m, foo=1", "1:14: unknown module attribute \"foo\""},
    {"HloModule m, is_scheduled=2", "1:27: expected true or false, got \"2\""},
    {"HloModule m\n\nENTRY e {\n}", "4:1: expected an instruction, got \"}\""},
    {"HloModule m /* never ends", "1:13: this comment has no end"},
    {"HloModule m\nENTRY e { a = f32[] parameter(0) } }", "2:36: expected a computation or ENTRY"},
    {"HloModule m\ne { a = f32[] parameter(0) }\ne { a = f32[] parameter(0) }",
     "3:1: the computation e is defined already in line 2"},
    {"HloModule m\nENTRY e (a: f32[]) -> f32[2] { a = f32[] parameter(0) }",
     "2:23: the computation is said to return f32[2], but its root a is f32[]"},
    {InEntry("b = f32[2,3]{1,0} negate(c)"), "4:28: no instruction named \"c\" stands before"},
    {InEntry("b = f32[2,3]{1,0} negate(a, a)"), "4:27: negate takes 1 operand, but has 2"},
    {InEntry("b = f32[2,3]{1,0} negate(f32[3,2] a)"),
     "4:37: the operand is said to be f32[3,2], but a is f32[2,3]"},
    {InEntry("b = f32[2,3]{1,0} foo(a)"), "4:21: unknown opcode \"foo\""},
    {InEntry("b = f32[2,3]{1,0} negate(a), foo=1"), "4:32: unknown attribute \"foo\""},
    {InEntry("b = f32[2,3]{1,0} negate(a), dimensions={0}"),
     "4:32: negate has no attribute \"dimensions\""},
    {InEntry("b = f32[3]{0} reduce(a, a), dimensions={0}"),
     "4:29: reduce needs the attribute to_apply"},
    {InEntry("b = f32[2,3]{1,0} call(a), to_apply=x"), "4:39: no computation named \"x\""},
    {InEntry("a = f32[2,3]{1,0} negate(a)"), "4:3: the instruction a is defined already in line 3"},
    {InEntry("ROOT b = f32[] negate(a) ROOT c = f32[] negate(b)"),
     "4:28: the computation has another ROOT already"},
    {InEntry("b = f32[2,3]{0} negate(a)"), "4:15: the array has 2 dimensions, its layout 1"},
    {InEntry("b = f32[2,3] all-gather(a), dimensions={0}, replica_groups=mesh[\"x\"=2] {}"),
     "4:62: a group of a mesh has more than one device"},
    {InEntry(
         "b = f32[2,3] all-gather(a), dimensions={0}, replica_groups=mesh[\"x\"=2] {\"x\",\"x\"}"),
     "4:62: a part of a mesh axis is used twice"},
    {InEntry("b = f32[2,3] negate(a), sharding={mesh[\"x\"=2], [{\"x\"},{\"x\"}]}"),
     "4:37: a part of a mesh axis is used twice"},
    {InEntry("b = f32[2,3] negate(a), sharding={mesh[\"x\"=2], [{\"x\"},{}], replicated={\"x\"}}"),
     "4:37: a part of a mesh axis is used twice"},
    {InEntry("b = f32[2,3] exponential(a), result_accuracy={tolerance={rtol=-1}}"),
     "4:60: a tolerance must not be negative"},
    // What follows ends XLA's process.
    {InEntry("b = f32[2,3] exponential(a), result_accuracy={tolerance={atol=nan}}"),
     "4:60: a tolerance must not be negative or NaN"},
    {InEntry("b = f32[2,3]{1,0:L(0)} negate(a)"),
     "4:21: the tail padding of a layout must be positive"},
    {InEntry("b = (token[]{:S(1)}) custom-call(a), custom_call_target=\"t\""),
     "4:15: token has no layout"},
    {InEntry("b = f32[2,3] negate(a), sharding={mesh[\"x\"=4], [{\"x\":(1)2,\"x\":(2)2}]}"),
     "4:37: parts of a mesh axis that continue each other have to be written as one"},
    {InEntry("b = f32[2,3] negate(a), sharding={mesh[\"x\"=6], [{\"x\":(1)2},{\"x\":(3)2}]}"),
     "4:37: two parts of a mesh axis do not fit together"},
    {InEntry("b = f32[2,3] negate(a), sharding={mesh[\"x\"=2,\"y\"=2], [], manual={\"y\",\"x\"}}"),
     "4:37: these axes have to be in the order of the mesh"},
    {InEntry("b = f32[2,3] negate(a), sharding={devices=[2]0,1 devices=[2]<=[2]}"),
     "4:37: a sharding lists its devices or gives a range of them, not both"},
    {InEntry("b = f32[2,3] negate(a), sharding={devices=[2]<=[2] devices=[2]<=[2]}"),
     "4:65: this sharding has a range already"},
    // And this it refuses.
    {InEntry("b = (f32[2,3], f32[3]) scan(a), dimensions={0}, num_carries=1, to_apply={ "
             "x = f32[3] parameter(0) y = f32[3] parameter(1) ROOT t = (f32[3], f32[3]) tuple(x, "
             "y) }"),
     "4:26: the computation of the scan takes 2 parameters, but the scan has 1 operands"},
    {InEntry("b = (f32[2]{0:#(u8)}, s32[]) custom-call(a), custom_call_target=\"t\""),
     "4:7: an array with index types is no part of a tuple"},
    {InEntry("b = f32[4] concatenate(a, a), dimensions={0,0}"),
     "4:31: concatenate needs exactly one dimension"},
    {InEntry("b = f32[4] all-gather(a), dimensions={}"),
     "4:27: all-gather needs exactly one dimension"},
    {InEntry("b = f32[2,3] negate(a), sharding={mesh[\"x\"=2], device_ids=([]), replicated}"),
     "4:64: the range of devices has no dimensions"},
    {InEntry("b = f32[2,3] negate(a), sharding={maximal_mesh[device_id=3], manual={}}"),
     "4:64: expected metadata="},
    {InEntry("b = f32[2,3] negate(a), sharding={mesh[\"x\"=2], manual, unreduced={}}"),
     "4:58: expected metadata="},
    {InEntry("b = f32[2,3] negate(a), sharding={mesh[\"x\"=2] device_ids=(1,0), replicated}"),
     "4:49: expected how the dimensions are sharded"},
    {InEntry("b = f32[2,3] negate(a), sharding={mesh[], device_ids=(0), replicated}"),
     "4:45: expected how the dimensions are sharded"},
    {"HloModule m\nf { ROOT a = f32[] parameter(0) }, execution_thread=\"main\", "
     "execution_thread=\"x\"\n",
     "2:61: execution_thread is there already"},
    {"HloModule m\nENTRY e {\n  a = f32[1,8,1] parameter(0)\n  b = f32[3,1,1] parameter(1)\n"
     "  c = convolution(a, b), window={size=3 stride=0}, dim_labels=b0f_0io->b0f\n}\n",
     "5:7: the shape of this convolution cannot be inferred: a window's size, stride and dilations "
     "must be positive"},
    {InEntry("b = f32[-2] negate(a)"), "4:11: the extent of a dimension must not be negative"},
    {InEntry("b = f32[99999999999999999999] negate(a)"),
     "4:11: this integer does not fit in 64 bits"},
    {InEntry("b = token[3] negate(a)"), "4:16: token has no dimensions"},
    {InEntry("b = s8[2] constant({1, 200})"), "4:26: this integer is out of the range of s8, -128"},
    {InEntry("b = f32[2] constant({1, 2, 3})"), "4:30: dimension 0 of the literal has more than 2"},
    {InEntry("b = f32[2] constant({1})"),
     "4:25: dimension 0 of the literal has 2 parts, but 1 are"},
    {InEntry("b = f32[2] constant({{1}, {2}})"),
     "4:24: the literal has 1 dimensions, but is nested"},
    {InEntry("b = f16[] constant(1e6)"), "4:22: this number is out of the range of f16"},
    {InEntry("b = f32[] constant(true)"), "4:22: expected a number, got \"true\""},
    {InEntry("b = f32[9999999999,9999999999] constant({1})"),
     "4:7: the array is larger than 64 bits can count"},
    {InEntry("b = f32[99999999] constant(1)"), "4:30: f32[99999999] has 99999999 elements, but"},
    {InEntry("b = f32[2,3] slice(a), slice={[0:2:1:1], [0:3]}"), "4:33: expected [start:limit]"},
    {InEntry("b = f32[2,3] add(a, a), metadata={op_name=\"x}"), "4:45: this string has no end"},
    {InEntry("b = f32[2,3] add(a, a), backend_config={\"x\":{1"),
     "4:42: the braces of this JSON object do not match"},
    {InEntry("b = f32[2,3] add(a, a), sharding={devices=[2,2]0,1,2}"),
     "4:37: the sharding has 4 tiles, but 3 devices are listed"},
    {InEntry("b = f32[2,3] add(a, a), sharding={devices=[99999999,99999999]<=[4]}"),
     "4:37: the tile dimensions of a sharding must be positive and not too many"},
    {InEntry("b = f32[2,3] add(a, a), parameter_replication={true}"),
     "4:49: only parameters have parameter_replication"},
    {InEntry("__b = f32[2,3] negate(a)"), "4:3: \"__b\" cannot be the name of an instruction"},
    {"ENTRY e { a = f32[] parameter(1) }", "1:35: the computation e has 1 parameters, but one is"},
    {InEntry("b = f32[] constant(\x01)"), "4:22: no token begins with this character"},
    {InEntry("b = f32[2,3] async-start(a), calls={ROOT x = f32[2,3] parameter(0)}"),
     "4:16: the shape of an async-start must be"},
    {"HloModule m\nENTRY e { ROOT a = " + Repeated("(", 500) + ")",
     "2:84: this is nested too deeply"},
    {"f32[] negate(" + Repeated("f32[] negate(", 500) + ")", "1:1301: this is nested too deeply"},
    {"f32[] call(), to_apply=" + Repeated("{ a = f32[] call(), to_apply=", 500),
     "1:1451: this is nested too deeply"},
    {"(f32[]) constant(" + Repeated("(", 500),
     "1:19: expected an element (parentheses are for complex ones), got \"(\""},
    {"() tuple(), origin={" + Repeated("(", 500), "1:121: this is nested too deeply"},
};

INSTANTIATE_TEST_SUITE_P(Rejections, RejectionTest, ::testing::ValuesIn(kRejections));

// Regression: each line doubled what the one before took, without an end.
TEST(ParserTest, TuplesOfTuplesWithoutShapesHaveALimit) {
  const auto doubled = [](int times) {
    std::string text = "HloModule m\nENTRY e {\n  a = f32[] parameter(0)\n  t0 = tuple(a, a)\n";
    for (int i = 1; i <= times; ++i) {
      absl::StrAppend(&text, "  t", i, " = tuple(t", i - 1, ", t", i - 1, ")\n");
    }
    return absl::StrCat(text, "  ROOT b = negate(a)\n}\n");
  };
  EXPECT_TRUE(ParseHloText(doubled(12)).ok());
  for (const int times : {20, 60}) {
    const absl::Status status = ParseHloText(doubled(times), {.file_name = "f.hlo"}).status();
    EXPECT_THAT(
        std::string(status.message()),
        testing::ContainsRegex("^f.hlo:19:9: the tuples without a written shape have more"));
  }
}

// Regression: a range whose groups of two cannot be sorted as a range became a list of a million
// devices, once for each element of a tuple.
TEST(ParserTest, DevicesThatTheTextDoesNotListHaveALimit) {
  const auto sharded = [](int times) {
    std::string text = "HloModule m\nENTRY e {\n  a = f32[] parameter(0)\n";
    for (int i = 0; i < times; ++i) {
      absl::StrAppend(&text, "  b", i, " = f32[] negate(a), sharding={devices=[2,174762,3]",
                      "<=[2,524286]T(1,0) last_tile_dim_replicate}\n");
    }
    return text + "}\n";
  };
  const auto module = ParseHloText(sharded(1));
  ASSERT_TRUE(module.ok()) << module.status();
  const proto::OpSharding& listed = (*module)->entry_computation().root().attributes().sharding();
  ASSERT_EQ(listed.tile_assignment_devices_size(), 1048572);
  // The range transposed is 0, 524286, 1, 524287, 2, ...; the first group of three is sorted.
  EXPECT_THAT(std::vector<int64_t>(listed.tile_assignment_devices().begin(),
                                   listed.tile_assignment_devices().begin() + 6),
              ElementsAre(0, 1, 524286, 2, 524287, 524288));
  EXPECT_THAT(std::string(ParseHloText(sharded(2), {.file_name = "f.hlo"}).status().message()),
              StartsWith("f.hlo:5:35: the shardings stand for lists of more than "));
}

TEST(ParserTest, ErrorShowsTheLineWithACaret) {
  const auto module = ParseHloText("HloModule m\n\nENTRY e {\n  a = f32[] foo(b)\n}\n",
                                   {.file_name = "program.hlo"});
  EXPECT_EQ(module.status().message(),
            "program.hlo:4:13: unknown opcode \"foo\"\n"
            "    a = f32[] foo(b)\n"
            "              ^");
}

TEST(ParserTest, ErrorInALongLineIsShortened) {
  const std::string text = "HloModule m\nENTRY e { a = f32[] parameter(0), metadata={op_name=\"" +
                           std::string(5000, 'x') + "\" foo=1} }";
  const std::string message(ParseHloText(text).status().message());
  EXPECT_LT(message.size(), 400u);
  EXPECT_THAT(message, HasSubstr("2:5056: unknown metadata field \"foo\""));
}

TEST(ParserTest, LineEndsOfEveryKindCount) {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    const std::string text =
        "HloModule m" + end + "ENTRY e {" + end + "  a = f32[] foo()" + end + "}";
    EXPECT_THAT(std::string(ParseHloText(text).status().message()), StartsWith("<text>:3:13:"));
  }
}

TEST(ParseShapeTest, ReadsAndRefuses) {
  const auto shape = ParseShape("(f32[<=8,?]{1,0:T(8,128)S(1)}, b(s4[2]), token[])");
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->ToString(), "(f32[<=8,?]{1,0:T(8,128)S(1)}, b(s4[2]{0}), token[])");
  EXPECT_TRUE(shape->tuple_shapes(0).is_dynamic_dimension(0));
  EXPECT_EQ(shape->tuple_shapes(0).dimensions(1), Shape::kUnbounded);
  EXPECT_FALSE(ParseShape("f32[2").ok());
  EXPECT_FALSE(ParseShape("f32[2] x").ok());
  EXPECT_FALSE(ParseShape("").ok());
}

}  // namespace
}  // namespace autotune
