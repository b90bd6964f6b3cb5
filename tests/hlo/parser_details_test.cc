// Corners of the grammar in which this parser does what XLA's does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hlo/parser.h"
#include "hlo/printer.h"
#include "hlo/verifier.h"

namespace autotune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<HloModule> Parse(const std::string& text) {
  auto module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : nullptr;
}

// The module's text, which has to read back as itself.
std::string Reprinted(const std::string& text) {
  const auto module = Parse(text);
  if (module == nullptr) return "";
  std::string printed = PrintHlo(*module);
  const auto again = Parse(printed);
  EXPECT_TRUE(again != nullptr && PrintHlo(*again) == printed) << printed;
  return printed;
}

proto::OpSharding ShardingOf(const std::string& sharding) {
  const auto module = Parse(absl::StrCat(
      "ENTRY e { ROOT a = f32[4] parameter(0), sharding={replicated ", sharding, "} }"));
  if (module == nullptr) return proto::OpSharding();
  return module->entry_computation().root().attributes().sharding();
}

TEST(ParserDetailsTest, ConstantsHaveNoDynamicExtents) {
  const auto module = Parse(
      "ENTRY e { c = f32[<=2] constant({1,2}) t = (s32[<=1], s32[]) constant(({3}, 4)) "
      "d = f32[<=2,3] constant({...}) ROOT b = negate(c) }");
  ASSERT_NE(module, nullptr);
  for (const HloInstruction* i : module->entry_computation().instructions()) {
    EXPECT_FALSE(i->shape().HasDynamicDimension()) << i->ToString();
  }
}

TEST(ParserDetailsTest, AnEmptyRecoveryTableIsNone) {
  const auto module =
      Parse("HloModule m, origin_recovery_table={}\nENTRY e { a = f32[] parameter(0) }");
  ASSERT_NE(module, nullptr);
  EXPECT_FALSE(module->ToProto().has_original_value_recovery_table());
}

TEST(ParserDetailsTest, ShardGroups) {
  EXPECT_EQ(ShardingOf("shard_as 1 shard_like 2").shard_group_type(), proto::OpSharding::AS);
  EXPECT_EQ(ShardingOf("shard_as 1 shard_like 2").shard_group_id(), 2);
  EXPECT_EQ(ShardingOf("shard_like 7").shard_group_type(), proto::OpSharding::LIKE);
  EXPECT_TRUE(ShardingOf("shard_as -5").is_shard_group());
  EXPECT_FALSE(ShardingOf("shard_like -1").is_shard_group());
  EXPECT_FALSE(ShardingOf("shard_like 2 shard_like -1").is_shard_group());
}

TEST(ParserDetailsTest, DevicesGivenTwiceFollowEachOther) {
  const auto module =
      Parse("ENTRY e { ROOT a = f32[4,4] parameter(0), sharding={devices=[2]0,1 devices=[2]3,2} }");
  ASSERT_NE(module, nullptr);
  const proto::OpSharding& sharding = module->entry_computation().root().attributes().sharding();
  EXPECT_THAT(sharding.tile_assignment_dimensions(), ElementsAre(2, 2));
  EXPECT_THAT(sharding.tile_assignment_devices(), ElementsAre(0, 1, 3, 2));
}

// Regression: each printed a text that read back as something else, or not at all.
TEST(ParserDetailsTest, NumbersOfStatisticsReadBack) {
  const std::string text = "ENTRY e { ROOT a = f32[] parameter(0), statistics=";
  EXPECT_THAT(Reprinted(text + "{visualizing_index=3} }"), HasSubstr("{visualizing_index=3}"));
  EXPECT_THAT(Reprinted(text + "{visualizing_index=0,a=-0.0,b=1e400} }"),
              HasSubstr("{visualizing_index=0, a=-0.0, b=1e999}"));
  EXPECT_THAT(Reprinted(text + "{visualizing_index=0} }"), Not(HasSubstr("statistics")));
}

TEST(ParserDetailsTest, NegativeZeroOfAnEpsilonReadsBack) {
  EXPECT_THAT(Reprinted("f32[2] batch-norm-inference(f32[2] a, f32[2] b, f32[2] c, f32[2] d, "
                        "f32[2] e), epsilon=-0.0, feature_index=0"),
              HasSubstr("epsilon=-0.0"));
}

TEST(ParserDetailsTest, OfTheDimensionsOfSomeTheFirstCounts) {
  for (const std::string line : {"f32[4] all-gather(f32[2] a), replica_groups={{0,1}}",
                                 "s32[] get-dimension-size(f32[4] a)"}) {
    const auto module = Parse(line + ", dimensions={0,7}");
    ASSERT_NE(module, nullptr);
    EXPECT_THAT(module->entry_computation().root().dimensions(), ElementsAre(0)) << line;
  }
}

TEST(ParserDetailsTest, TheOperandsOfARaggedAllToAllAreLeftToTheVerifier) {
  const auto module = Parse("f32[4] ragged-all-to-all(f32[4] a, s32[2] b), replica_groups={{0,1}}");
  ASSERT_NE(module, nullptr);
  const std::vector<VerifierError> errors = VerifyModule(*module);
  ASSERT_FALSE(errors.empty());
  EXPECT_THAT(errors[0].message, HasSubstr("operand"));
}

// Regression: what is deeper was cut off on the way through a protobuf.
TEST(ParserDetailsTest, ShapesAreNestedAsDeepAsAProtobufReads) {
  const auto nested = [](int depth) {
    return absl::StrCat(
        "HloModule m\nENTRY e { ROOT p = ", std::string(static_cast<size_t>(depth), '('), "f32[2]",
        std::string(static_cast<size_t>(depth), ')'), " parameter(0) }\n");
  };
  const auto deep = Parse(nested(Shape::kMaxNesting));
  ASSERT_NE(deep, nullptr);
  proto::HloModuleProto proto = deep->ToProto();
  const auto back = HloModule::FromProto(proto);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ((*back)->entry_computation().root().shape(), deep->entry_computation().root().shape());
  EXPECT_FALSE(ParseHloText(nested(Shape::kMaxNesting + 1)).ok());
  proto::ShapeProto* shape =
      proto.mutable_computations(0)->mutable_instructions(0)->mutable_shape();
  proto::ShapeProto outer;
  outer.set_element_type(proto::TUPLE);
  outer.add_tuple_shapes()->Swap(shape);
  shape->Swap(&outer);
  EXPECT_THAT(std::string(HloModule::FromProto(proto).status().message()),
              HasSubstr("instruction p: a shape is nested too deeply"));
}

TEST(ParserDetailsTest, ABufferOfAProtobufHoldsAnArray) {
  const auto module = Parse("HloModule m\nENTRY e { ROOT p = b(f32[2]) parameter(0) }\n");
  ASSERT_NE(module, nullptr);
  proto::HloModuleProto proto = module->ToProto();
  proto.mutable_computations(0)->mutable_instructions(0)->mutable_shape()->clear_tuple_shapes();
  EXPECT_THAT(std::string(HloModule::FromProto(proto).status().message()),
              HasSubstr("instruction p: a buffer holds one array"));
}

// Regression: signed overflow. What XLA's parser makes of these wraps around.
TEST(ParserDetailsTest, NumbersThatOverflowWrapAround) {
  const auto ranges = Parse(
      "ENTRY e { a = f32[2] parameter(0) ROOT b = f32[4] all-gather(a), dimensions={0}, "
      "replica_groups=[2,4]<=[9223372036854775807,9223372036854775807]T(0,1) }");
  ASSERT_NE(ranges, nullptr);
  EXPECT_THAT(ranges->entry_computation()
                  .root()
                  .attributes()
                  .iota_collective_device_list()
                  .iota_reshape_dims(),
              ElementsAre(1));
  for (const std::string frame : {"-2147483648", "2147483647", "1"}) {
    EXPECT_THAT(
        Reprinted(absl::StrCat(
            "HloModule m\n\nFileNames\n1 \"a\"\n\nFunctionNames\n1 \"f\"\n\nFileLocations\n"
            "1 {file_name_id=1 function_name_id=1 line=1 end_line=1 column=1 end_column=1}\n\n"
            "StackFrames\n1 {file_location_id=1 parent_frame_id=",
            frame, "}\n\nENTRY e { a = f32[] parameter(0), metadata={stack_frame_id=1} }\n")),
        HasSubstr("parent_frame_id=" + frame + "}"));
  }
}

}  // namespace
}  // namespace autotune
