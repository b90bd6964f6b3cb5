#include "hlo/next_free_id.h"

#include "gtest/gtest.h"

namespace autotune {
namespace {

TEST(NextFreeIdTest, IsBehindComputationsAndInstructions) {
  proto::HloModuleProto program;
  EXPECT_EQ(NextFreeId(program), 1);
  proto::HloComputationProto& first = *program.add_computations();
  first.set_id(3);
  EXPECT_EQ(NextFreeId(program), 4);
  first.add_instructions()->set_id(12);
  first.add_instructions()->set_id(7);
  EXPECT_EQ(NextFreeId(program), 13);
  program.add_computations()->set_id(20);
  EXPECT_EQ(NextFreeId(program), 21);
}

}  // namespace
}  // namespace autotune
