#include "hlo/read_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"

namespace autotune {
namespace {

// A file with nothing but a size, which takes no room on the disk.
std::string SparseFile(size_t size) {
  const std::string path = testing::TempDir() + "/sparse";
  std::ofstream(path).close();
  EXPECT_EQ(truncate(path.c_str(), static_cast<off_t>(size)), 0);
  return path;
}

TEST(ReadFileTest, WhatIsTooLargeToBeAProgramIsRefusedBeforeItIsRead) {
  const std::string path = SparseFile(kLargestFileBytes + 1);
  const absl::Status status = ReadWholeFile(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "/sparse: more than 4 GiB")) << status;
  // Its beginning can be looked at.
  const absl::StatusOr<std::string> start = ReadWholeFile(path, 10);
  ASSERT_TRUE(start.ok()) << start.status();
  EXPECT_EQ(*start, std::string(10, '\0'));
  std::filesystem::remove(path);
}

TEST(ReadFileTest, ALimitEndsWhatNeverEnds) {
  const absl::StatusOr<std::string> zeros = ReadWholeFile("/dev/zero", 100000);
  ASSERT_TRUE(zeros.ok()) << zeros.status();
  EXPECT_EQ(zeros->size(), 100000);
  const absl::Status status = ReadWholeFile("/dev/zero").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "/dev/zero: a device without an end: neither a program nor a recording");
  EXPECT_EQ(*ReadWholeFile("/dev/null"), "");
}

}  // namespace
}  // namespace autotune
