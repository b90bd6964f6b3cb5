// Numbers that only a protobuf can hold, for text is checked as it is read. Regressions: each of
// these overflowed, or was taken for an index or a size as it was.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "hlo/parser.h"
#include "hlo/printer.h"
#include "hlo/verifier.h"

namespace autotune {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

// The module of a text after `edit` has changed its protobuf.
std::unique_ptr<HloModule> Edited(const std::string& text,
                                  const std::function<void(proto::HloModuleProto*)>& edit) {
  const auto parsed = ParseHloText(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  if (!parsed.ok()) return nullptr;
  proto::HloModuleProto proto = (*parsed)->ToProto();
  edit(&proto);
  auto module = HloModule::FromProto(proto);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : nullptr;
}

std::string FirstError(const HloModule& module) {
  const std::vector<VerifierError> errors = VerifyModule(module);
  return errors.empty() ? "" : errors[0].message;
}

proto::HloInstructionProto* Find(proto::HloModuleProto* module, const std::string& opcode) {
  for (auto& computation : *module->mutable_computations()) {
    for (auto& instruction : *computation.mutable_instructions()) {
      if (instruction.opcode() == opcode) return &instruction;
    }
  }
  return nullptr;
}

constexpr char kLoop[] =
    "HloModule m\n"
    "b { p = f32[4] parameter(0) ROOT n = f32[4] negate(p), sharding={devices=[2]<=[2]} }\n"
    "c { p = f32[4] parameter(0) ROOT t = pred[] constant(true) }\n"
    "ENTRY e { a = f32[4] parameter(0) ROOT w = f32[4] while(a), condition=c, body=b, "
    "sharding={devices=[2]<=[2]} }\n";

TEST(ProtoExtremesTest, RangesOfDevicesThatAreNoRanges) {
  const auto check = [](std::initializer_list<int64_t> tiles, std::initializer_list<int64_t> range,
                        std::initializer_list<int> order) {
    const auto module = Edited(kLoop, [&](proto::HloModuleProto* proto) {
      for (const char* opcode : {"negate", "while"}) {
        proto::OpSharding* sharding = Find(proto, opcode)->mutable_sharding();
        sharding->mutable_tile_assignment_dimensions()->Assign(tiles.begin(), tiles.end());
        sharding->mutable_iota_reshape_dims()->Assign(range.begin(), range.end());
        sharding->mutable_iota_transpose_perm()->Assign(order.begin(), order.end());
      }
    });
    return module == nullptr ? "" : FirstError(*module);
  };
  EXPECT_EQ(check({2}, {2}, {0}), "");
  EXPECT_EQ(check({2}, {int64_t{1} << 40}, {0}), "");
  EXPECT_EQ(check({2}, {2}, {100}), "");
  EXPECT_EQ(check({2}, {1, 2}, {0}), "");
  EXPECT_THAT(check({kMax, kMax}, {2}, {0}), HasSubstr("the sharding splits 2 dimension(s)"));
  EXPECT_THAT(check({kMin, -1}, {kMin, -1}, {1, 0}), HasSubstr("splits 2 dimension(s)"));
}

TEST(ProtoExtremesTest, CarriesOfAScan) {
  const auto module = Edited(
      "HloModule m\ns { c = f32[] parameter(0) x = f32[] parameter(1) "
      "ROOT t = (f32[], f32[]) tuple(c, x) }\n"
      "ENTRY e { x = f32[4] parameter(0) i = f32[] parameter(1) "
      "ROOT r = (f32[4], f32[]) scan(x, i), dimensions={0}, num_carries=1, to_apply=s }\n",
      [](proto::HloModuleProto* proto) { Find(proto, "scan")->set_num_carries(kMin); });
  ASSERT_NE(module, nullptr);
  EXPECT_THAT(FirstError(*module), HasSubstr("cannot carry -9223372036854775808"));
}

TEST(ProtoExtremesTest, DimensionsOfAConvolution) {
  const auto module = Edited(
      "ENTRY e { a = f32[1,4,4] parameter(0) ROOT c = f32[1,4,4] convolution(a, a), "
      "window={size=1}, dim_labels=b0f_i0o->b0f }",
      [](proto::HloModuleProto* proto) {
        auto* numbers = Find(proto, "convolution")->mutable_convolution_dimension_numbers();
        numbers->set_input_batch_dimension(kMax);
        numbers->set_kernel_spatial_dimensions(0, kMax);
      });
  ASSERT_NE(module, nullptr);
  EXPECT_THAT(PrintHlo(*module), HasSubstr("dim_labels="));
  EXPECT_NE(FirstError(*module), "");
}

TEST(ProtoExtremesTest, ParentsOfStackFrames) {
  const auto module = Edited(
      "HloModule m\n\nFileNames\n1 \"a\"\n\nFunctionNames\n1 \"f\"\n\nFileLocations\n"
      "1 {file_name_id=1 function_name_id=1 line=1 end_line=1 column=1 end_column=1}\n\n"
      "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\n"
      "ENTRY e { a = f32[] parameter(0), metadata={stack_frame_id=1} }\n",
      [](proto::HloModuleProto* proto) {
        proto->mutable_stack_frame_index()->mutable_stack_frames(0)->set_parent_frame_id(
            std::numeric_limits<int32_t>::max());
      });
  ASSERT_NE(module, nullptr);
  EXPECT_THAT(PrintHlo(*module), HasSubstr("parent_frame_id=-2147483648}"));
}

}  // namespace
}  // namespace autotune
