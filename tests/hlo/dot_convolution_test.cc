#include "hlo/dot_convolution.h"

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "hlo/parser.h"
#include "hlo/verifier.h"

namespace autotune {
namespace {

std::string Program(const std::string& lhs, const std::string& rhs, const std::string& result,
                    const std::string& dimensions) {
  return absl::StrCat("HloModule m\nENTRY e {\n  a = ", lhs, " parameter(0)\n  b = ", rhs,
                      " parameter(1)\n  ROOT d = ", result, " dot(a, b), ", dimensions, "\n}\n");
}

absl::StatusOr<std::unique_ptr<HloModule>> Converted(const std::string& text) {
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  proto::HloModuleProto program = (*module)->ToProto();
  if (absl::Status status = MakeDotConvolution("d", &program); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<HloModule>> converted = HloModule::FromProto(program);
  if (converted.ok()) {
    const absl::Status valid = VerifyStatus(**converted);
    EXPECT_TRUE(valid.ok()) << valid;
    EXPECT_EQ((*converted)->entry_computation().root().opcode(), HloOpcode::kConvolution);
    EXPECT_EQ((*converted)->entry_computation().root().shape(),
              (*module)->entry_computation().root().shape());
  }
  return converted;
}

// Forms that libtpu 0.0.52 writes itself for the same dots.
TEST(DotConvolution, MatrixProduct) {
  const auto module = Converted(Program("f32[8,16]", "f32[16,4]", "f32[8,4]",
                                        "lhs_contracting_dims={1}, rhs_contracting_dims={0}"));
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(absl::StrContains((*module)->ToString(), "dim_labels=bf_io->bf"));
}

TEST(DotConvolution, Transposed) {
  const auto module = Converted(Program("f32[16,8]", "f32[4,16]", "f32[8,4]",
                                        "lhs_contracting_dims={0}, rhs_contracting_dims={1}"));
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(absl::StrContains((*module)->ToString(), "dim_labels=fb_oi->bf"));
}

TEST(DotConvolution, TwoFreeDimensions) {
  const auto module = Converted(Program("bf16[2,8,16]", "bf16[16,4]", "bf16[2,8,4]",
                                        "lhs_contracting_dims={2}, rhs_contracting_dims={0}"));
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(absl::StrContains((*module)->ToString(), "window={size=1}, dim_labels=0bf_io0->0bf"))
      << (*module)->ToString();
}

TEST(DotConvolution, BatchDimensions) {
  const auto module =
      Converted(Program("bf16[2,8,32,16]", "bf16[2,9,32,16]", "bf16[2,32,8,9]",
                        "lhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_batch_dims={0,2}, "
                        "rhs_contracting_dims={3}"));
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(absl::StrContains(
      (*module)->ToString(),
      "window={size=2x32 stride=1x31 lhs_dilate=2x32}, dim_labels=0b1f_0o1i->01bf"))
      << (*module)->ToString();
}

TEST(DotConvolution, OtherFormsSayWhy) {
  EXPECT_TRUE(absl::IsUnimplemented(
      Converted(Program("f32[8,4,16]", "f32[4,16,5]", "f32[8,5]",
                        "lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}"))
          .status()));
  EXPECT_TRUE(
      absl::IsUnimplemented(Converted(Program("f32[16]", "f32[16,5]", "f32[5]",
                                              "lhs_contracting_dims={0}, rhs_contracting_dims={0}"))
                                .status()));
  EXPECT_TRUE(
      absl::IsUnimplemented(Converted(Program("f32[8,16]", "f32[16,5,6]", "f32[8,5,6]",
                                              "lhs_contracting_dims={1}, rhs_contracting_dims={0}"))
                                .status()));
  proto::HloModuleProto empty;
  EXPECT_TRUE(absl::IsNotFound(MakeDotConvolution("d", &empty)));
}

}  // namespace
}  // namespace autotune
