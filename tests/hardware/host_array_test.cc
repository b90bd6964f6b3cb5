#include "hardware/host_array.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "hlo/parser.h"

namespace autotune {
namespace {

std::unique_ptr<HloModule> Parse(const std::string& text) {
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : nullptr;
}

std::vector<HostArray> Inputs(const std::string& text, uint64_t seed) {
  absl::StatusOr<std::vector<HostArray>> inputs = RandomInputs(*Parse(text), seed);
  EXPECT_TRUE(inputs.ok()) << inputs.status();
  return inputs.ok() ? *std::move(inputs) : std::vector<HostArray>();
}

HostArray Floats(std::vector<float> values) {
  HostArray array{proto::F32, {static_cast<int64_t>(values.size())}, ""};
  array.bytes.resize(values.size() * sizeof(float));
  std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  return array;
}

TEST(RandomInputs, EveryElementType) {
  for (int number = 0; number < 64; ++number) {
    if (!proto::PrimitiveType_IsValid(number)) continue;
    const auto type = static_cast<ElementType>(number);
    if (!IsArrayType(type)) continue;
    const std::string name(ElementTypeName(type));
    const std::vector<HostArray> inputs =
        Inputs(absl::StrCat("HloModule m\nENTRY e { ROOT p = ", name, "[64] parameter(0) }\n"), 1);
    ASSERT_EQ(inputs.size(), 1u) << name;
    EXPECT_EQ(inputs[0].bytes.size(), 64u * static_cast<size_t>(ByteWidth(type))) << name;
    std::set<double> different;
    for (int64_t i = 0; i < 64; ++i) {
      const double value = inputs[0].At(i);
      EXPECT_TRUE(std::isfinite(value)) << name;
      EXPECT_LE(std::abs(value), 8) << name;
      different.insert(value);
    }
    // Only one value of these is not negative and small.
    const bool single = type == proto::S1 || type == proto::U1;
    EXPECT_GE(different.size(), single ? 1u : 2u) << name;
  }
}

TEST(RandomInputs, TheSeedDecides) {
  const char* text = "HloModule m\nENTRY e { ROOT p = f32[300000] parameter(0) }\n";
  EXPECT_EQ(Inputs(text, 1)[0].bytes, Inputs(text, 1)[0].bytes);
  EXPECT_NE(Inputs(text, 1)[0].bytes, Inputs(text, 2)[0].bytes);
}

TEST(RandomInputs, IndicesStayInRange) {
  const std::unique_ptr<HloModule> program = Parse(R"(HloModule indices
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
inner {
  start = s32[] parameter(0)
  table = f32[50,4] parameter(1)
  zero = s32[] constant(0)
  ROOT row = f32[10,4] dynamic-slice(table, start, zero), dynamic_slice_sizes={10,4}
}
ENTRY main {
  tokens = s32[2,3] parameter(0)
  table = f32[50,4] parameter(1)
  where = s32[] parameter(2)
  count = s32[7] parameter(3)
  spots = s32[5,1] parameter(4)
  flat = s32[6,1] reshape(tokens)
  rows = f32[6,4] gather(table, flat), offset_dims={1}, collapsed_slice_dims={0},
      start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}
  part = f32[10,4] call(where, table), to_apply=inner
  updates = f32[5,4] slice(rows), slice={[0:5], [0:4]}
  changed = f32[50,4] scatter(table, spots, updates), update_window_dims={1},
      inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum
  ROOT t = (f32[6,4], f32[10,4], f32[50,4], s32[7]) tuple(rows, part, changed, count)
}
)");
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(IndexLimits(*program), (std::vector<int64_t>{50, 0, 41, 0, 50}));
  const absl::StatusOr<std::vector<HostArray>> inputs = RandomInputs(*program, 4);
  ASSERT_TRUE(inputs.ok());
  double largest = 0;
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_GE((*inputs)[0].At(i), 0);
    EXPECT_LT((*inputs)[0].At(i), 50);
    largest = std::max(largest, (*inputs)[0].At(i));
  }
  EXPECT_GT(largest, 8);  // the whole range is used
}

TEST(RandomInputs, WhatIsNoArrayIsNamed) {
  const auto inputs =
      RandomInputs(*Parse("HloModule m\nENTRY e { ROOT p = (f32[2], f32[3]) parameter(0) }\n"), 1);
  EXPECT_TRUE(absl::IsUnimplemented(inputs.status()));
  EXPECT_TRUE(absl::StrContains(inputs.status().message(), "parameter p")) << inputs.status();
}

TEST(CompareOutputs, TolerancesByType) {
  EXPECT_TRUE(CompareOutputs({Floats({1, 2, 3})}, {Floats({1, 2.0005f, 3})}).ok());
  EXPECT_FALSE(CompareOutputs({Floats({1, 2, 3})}, {Floats({1, 2.02f, 3})}).ok());
  // What is small beside the others may be off by their rounding.
  EXPECT_TRUE(CompareOutputs({Floats({1000, 0})}, {Floats({1000, 0.01f})}).ok());
  const HostArray integer{proto::S32, {1}, std::string("\x05\0\0\0", 4)};
  const HostArray other{proto::S32, {1}, std::string("\x06\0\0\0", 4)};
  EXPECT_TRUE(CompareOutputs({integer}, {integer}).ok());
  EXPECT_FALSE(CompareOutputs({integer}, {other}).ok());
}

TEST(CompareOutputs, NanEqualsOnlyItself) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(CompareOutputs({Floats({nan, 1})}, {Floats({nan, 1.0001f})}).ok());
  EXPECT_FALSE(CompareOutputs({Floats({1, 1})}, {Floats({nan, 1})}).ok());
  EXPECT_FALSE(CompareOutputs({Floats({nan, 1})}, {Floats({1, 1})}).ok());
}

TEST(CompareOutputs, SaysWhere) {
  const absl::Status status = CompareOutputs({Floats({1, 2, 3})}, {Floats({1, 5, 7})});
  EXPECT_EQ(status.message(),
            "output 0: 2 of 3 numbers differ by more than 0.001; number 1 is 5 instead of 2");
  EXPECT_FALSE(CompareOutputs({Floats({1})}, {}).ok());
  EXPECT_FALSE(CompareOutputs({Floats({1})}, {Floats({1, 2})}).ok());
}

}  // namespace
}  // namespace autotune
