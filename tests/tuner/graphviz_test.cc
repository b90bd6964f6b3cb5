// Drawing with whatever `dot` PATH has: one that is not there, cannot be started or never ends.

#include "tuner/graphviz.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autotune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// PATH is a folder of the test's own: CTest runs the tests of one fixture side by side.
class GraphvizTest : public ::testing::Test {
 protected:
  GraphvizTest()
      : path_(std::getenv("PATH")),
        folder_(absl::StrCat(::testing::TempDir(), "graphviz_test_",
                             ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    setenv("PATH", folder_.c_str(), 1);
  }

  ~GraphvizTest() override { setenv("PATH", path_.c_str(), 1); }

  void WriteDot(const std::string& script, std::filesystem::perms permissions) const {
    const std::string dot = folder_ + "/dot";
    std::ofstream(dot) << script;
    std::filesystem::permissions(dot, permissions);
  }

  const std::string path_, folder_;
};

TEST_F(GraphvizTest, ADotThatNeverEndsIsKilled) {
  WriteDot("#!/bin/sh\nexec /bin/sleep 600\n", std::filesystem::perms::owner_all);
  const absl::Time start = absl::Now();
  const absl::Status status = DrawSvg("digraph {}", absl::Milliseconds(300)).status();
  EXPECT_LT(absl::Now() - start, absl::Minutes(1));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("300ms"), HasSubstr("--limit"), HasSubstr("--dot")));
}

TEST_F(GraphvizTest, ADotThatIsDoneInTimeDraws) {
  WriteDot("#!/bin/sh\necho '<svg>' > \"$3\"\n", std::filesystem::perms::owner_all);
  const auto svg = DrawSvg("digraph {}", absl::Minutes(1));
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_EQ(*svg, "<svg>\n");
}

TEST_F(GraphvizTest, ADotWithoutItsInterpreterIsNotCalledMissing) {
  WriteDot("#!/no/such/interpreter\n", std::filesystem::perms::owner_all);
  const absl::Status status = DrawSvg("digraph {}").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("/dot: its interpreter is missing"),
                                                   HasSubstr("--dot"), Not(HasSubstr("apt-get"))));
}

TEST_F(GraphvizTest, ADotThatMayNotBeRunIsMissing) {
  WriteDot("#!/bin/sh\n", std::filesystem::perms::owner_read);
  const absl::Status status = DrawSvg("digraph {}").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("apt-get install graphviz"));
}

TEST_F(GraphvizTest, FoldersThatHoldNoProgramArePassedOver) {
  WriteDot("#!/bin/sh\necho '<svg>' > \"$3\"\n", std::filesystem::perms::owner_all);
  const std::string closed = folder_ + "/closed";
  std::filesystem::create_directories(closed + "/folder/dot");
  std::filesystem::permissions(closed, std::filesystem::perms::none);
  const std::string others = closed + ":" + closed + "/folder:" + folder_ + "/dot:/no/such/folder";
  setenv("PATH", (others + ":" + folder_).c_str(), 1);
  EXPECT_TRUE(DrawSvg("digraph {}").ok());
  setenv("PATH", others.c_str(), 1);
  const absl::Status status = DrawSvg("digraph {}").status();
  std::filesystem::permissions(closed, std::filesystem::perms::owner_all);
  EXPECT_THAT(std::string(status.message()), HasSubstr("apt-get install graphviz"));
}

TEST_F(GraphvizTest, WithoutADotThePackageIsNamed) {
  const absl::Status status = DrawSvg("digraph {}").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("apt-get install graphviz"));
}

}  // namespace
}  // namespace autotune
