#include "hlo/shape_validation.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/module.h"
#include "hlo/parser.h"

namespace autotune {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const std::string& shape) {
  const auto module =
      ParseHloText("HloModule m\nENTRY e {\n  ROOT p = " + shape + " parameter(0)\n}\n");
  return module.ok() ? "" : std::string(module.status().message());
}

// A layout that is no permutation once crashed the geometry of tiles (found by mutating files).
TEST(ShapeValidationTest, TextWithABadLayoutIsRefusedWithItsPosition) {
  EXPECT_THAT(ErrorOf("bf16[32,12,12,192]{3,0,2,4}"), HasSubstr("<text>:3:30: "));
  EXPECT_THAT(ErrorOf("bf16[32,12,12,192]{3,0,2,4}"), HasSubstr("names dimension 4"));
  EXPECT_THAT(ErrorOf("bf16[32,12,12,192]{3,0,2,2}"), HasSubstr("names dimension 2 twice"));
  EXPECT_THAT(ErrorOf("f32[4,4]{1,0:T(0,128)}"), HasSubstr("tile of extent 0"));
  EXPECT_EQ(ErrorOf("bf16[32,12,12,192]{3,0,2,1:T(8,128)(2,1)}"), "");
}

TEST(ShapeValidationTest, SizesBeyond64BitsAreRefused) {
  EXPECT_THAT(ErrorOf("f32[1048576,1048576,1048576,1048576]"), HasSubstr("64 bits"));
  EXPECT_EQ(ErrorOf("f32[1048576,1048576,1048576]"), "");
}

TEST(ShapeValidationTest, ProtobufWithABadLayoutIsRefused) {
  const auto module = ParseHloText("ENTRY e {\n  ROOT p = f32[4,8]{1,0} parameter(0)\n}\n");
  ASSERT_TRUE(module.ok()) << module.status();
  for (const int64_t dimension : {-1, 2, 0}) {
    proto::HloModuleProto proto = (*module)->ToProto();
    proto.mutable_computations(0)
        ->mutable_instructions(0)
        ->mutable_shape()
        ->mutable_layout()
        ->set_minor_to_major(0, dimension);
    const auto read = HloModule::FromProto(proto);
    ASSERT_FALSE(read.ok()) << dimension;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr("names dimension"));
  }
}

}  // namespace
}  // namespace autotune
