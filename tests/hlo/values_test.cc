// Shapes, number formats, names and device lists: the small values of the IR.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "hlo/float_format.h"
#include "hlo/name_uniquer.h"
#include "hlo/opcode.h"
#include "hlo/shape.h"
#include "hlo/tile_assignment.h"

namespace autotune {
namespace {

using ::testing::ElementsAre;

TEST(ShapeTest, SizesAndPhysicalOrder) {
  Shape shape = Shape::ArrayWithDefaultLayout(proto::BF16, {2, 3, 5});
  EXPECT_EQ(shape.ElementsIn(), 30);
  EXPECT_EQ(shape.ByteSize(), 60);
  EXPECT_THAT(shape.PhysicalDimensions(), ElementsAre(2, 3, 5));
  shape.mutable_layout().minor_to_major = {0, 2, 1};
  EXPECT_THAT(shape.PhysicalDimensions(), ElementsAre(3, 5, 2));
  EXPECT_EQ(shape.ToString(), "bf16[2,3,5]{0,2,1}");
  EXPECT_EQ(Shape::Tuple({shape, Shape::Token()}).ByteSize(), 60);
  Shape packed = Shape::ArrayWithDefaultLayout(proto::S4, {7});
  EXPECT_EQ(packed.ByteSize(), 7);
  packed.mutable_layout().element_size_in_bits = 4;
  EXPECT_EQ(packed.ByteSize(), 4);
}

TEST(ShapeTest, HugeDimensionsDoNotOverflow) {
  const Shape huge = Shape::Array(proto::F32, {int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_FALSE(huge.ElementCount().has_value());
  EXPECT_EQ(huge.ByteSize(), std::numeric_limits<int64_t>::max());
  const Shape empty = Shape::Array(proto::F32, {int64_t{1} << 40, int64_t{1} << 40, 0});
  EXPECT_EQ(empty.ElementCount(), 0);
}

TEST(ShapeTest, ProtoRoundTrip) {
  Shape shape = Shape::ArrayWithDefaultLayout(proto::F32, {8, 128});
  shape.set_dynamic_dimension(0, true);
  shape.mutable_layout().tiles.push_back({{8, 128}});
  shape.mutable_layout().memory_space = 1;
  shape.mutable_layout().split_configs.push_back({1, {64}});
  const Shape tuple = Shape::Tuple({shape, Shape::Buffer(Shape::Array(proto::S8, {4}))});
  proto::ShapeProto proto;
  tuple.ToProto(&proto);
  EXPECT_EQ(Shape::FromProto(proto), tuple);
  EXPECT_EQ(tuple.ToString(), "(f32[<=8,128]{1,0:T(8,128)S(1)SC(1:64)}, b(s8[4]))");
}

// Every bit pattern of a narrow type comes back from its value.
TEST(FloatFormatTest, EveryPatternRoundTrips) {
  for (const ElementType type :
       {proto::F16, proto::BF16, proto::F8E5M2, proto::F8E4M3, proto::F8E4M3FN,
        proto::F8E4M3B11FNUZ, proto::F8E3M4, proto::F8E5M2FNUZ, proto::F8E4M3FNUZ, proto::F4E2M1FN,
        proto::F6E3M2FN, proto::F6E2M3FN, proto::F8E8M0FNU}) {
    const FloatFormat format = *FloatFormatOf(type);
    const int bits = format.exponent_bits + format.mantissa_bits + (format.has_sign ? 1 : 0);
    EXPECT_EQ(bits, BitWidth(type));
    for (uint32_t pattern = 0; pattern < uint32_t{1} << bits; ++pattern) {
      const double value = DecodeFloat(format, pattern);
      if (IsNan(format, pattern)) {
        EXPECT_TRUE(std::isnan(value));
        EXPECT_TRUE(IsNan(format, EncodeFloat(format, value)));
      } else {
        EXPECT_EQ(EncodeFloat(format, value), pattern) << ElementTypeName(type) << " " << value;
      }
    }
  }
}

TEST(FloatFormatTest, KnownValuesAndRounding) {
  const FloatFormat f16 = *FloatFormatOf(proto::F16);
  EXPECT_EQ(DecodeFloat(f16, 0x7bff), 65504);
  EXPECT_EQ(EncodeFloat(f16, 1.0), 0x3c00u);
  EXPECT_EQ(EncodeFloat(f16, 65519.9), 0x7bffu);
  EXPECT_EQ(EncodeFloat(f16, 65520), 0x7c00u);  // a tie, to even: infinity
  EXPECT_EQ(EncodeFloat(f16, 1 + std::ldexp(1, -11)), 0x3c00u);
  EXPECT_EQ(EncodeFloat(f16, 1 + 3 * std::ldexp(1, -11)), 0x3c02u);
  EXPECT_EQ(EncodeFloat(f16, std::ldexp(1, -24)), 1u);
  // The largest finite values.
  EXPECT_EQ(DecodeFloat(*FloatFormatOf(proto::F8E4M3FN), 0x7e), 448);
  EXPECT_EQ(DecodeFloat(*FloatFormatOf(proto::F8E5M2), 0x7b), 57344);
  EXPECT_EQ(DecodeFloat(*FloatFormatOf(proto::F8E4M3FNUZ), 0x7f), 240);
  EXPECT_EQ(DecodeFloat(*FloatFormatOf(proto::F4E2M1FN), 0x7), 6);
  EXPECT_EQ(EncodeFloat(*FloatFormatOf(proto::F8E8M0FNU), 0.5), 126u);
}

TEST(NameUniquerTest, NumbersAsXlaDoes) {
  NameUniquer names;
  std::string renamed;
  EXPECT_TRUE(names.Take("add", &renamed));
  EXPECT_FALSE(names.Take("add", &renamed));
  EXPECT_EQ(renamed, "add.1");
  EXPECT_TRUE(names.Take("add.7", &renamed));
  EXPECT_FALSE(names.Take("add.007", &renamed));
  EXPECT_EQ(renamed, "add.2");
  EXPECT_FALSE(names.Take("add.0", &renamed)) << "add has taken the suffix 0";
  EXPECT_EQ(renamed, "add.3");
  EXPECT_FALSE(names.Take("mul.05", &renamed));
  EXPECT_EQ(renamed, "mul.5");
}

TEST(NameUniquerTest, Sanitizes) {
  EXPECT_EQ(SanitizedName("1 a%b"), "a_a_b");
  EXPECT_EQ(SanitizedName("f32"), "f32_");
  EXPECT_EQ(SanitizedName("tuple"), "tuple");
  EXPECT_EQ(SanitizedName("__x"), "a_x");
  EXPECT_EQ(SanitizedName("__xla_x"), "__xla_x");
  for (const char* name : {"a", "_a", "a-b.c", "tuple", "__xla_q"})
    EXPECT_TRUE(IsSanitizedName(name));
  for (const char* name : {"", "1", "f32", "__a", "a b"}) EXPECT_FALSE(IsSanitizedName(name));
}

TEST(TileAssignmentTest, CanonicalizesAndTransposes) {
  TileAssignment tiles{.dimensions = {4, 2}, .reshape = {2, 2, 2}, .permutation = {1, 2, 0}};
  tiles.Canonicalize();
  EXPECT_THAT(tiles.reshape, ElementsAre(2, 4));
  EXPECT_THAT(tiles.permutation, ElementsAre(1, 0));
  TileAssignment listed = tiles;
  listed.Materialize();
  EXPECT_THAT(listed.devices, ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
  tiles.Transpose({1, 0});
  listed.Transpose({1, 0});
  tiles.Materialize();
  EXPECT_EQ(tiles.devices, listed.devices);
  EXPECT_THAT(tiles.devices, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(OpcodeTest, NamesRoundTrip) {
  for (int i = 0; i < static_cast<int>(HloOpcode::kUnknown); ++i) {
    const HloOpcode opcode = static_cast<HloOpcode>(i);
    EXPECT_EQ(HloOpcodeFromName(HloOpcodeName(opcode)), opcode);
  }
  EXPECT_FALSE(HloOpcodeFromName("unknown").has_value());
  EXPECT_EQ(HloOpcodeOperandCount(HloOpcode::kSelect), 3);
  EXPECT_FALSE(HloOpcodeOperandCount(HloOpcode::kTuple).has_value());
}

}  // namespace
}  // namespace autotune
