#include "hardware/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autotune {
namespace {

class AtomicFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(::testing::TempDir(), "/atomic_file_", getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(AtomicFileTest, WritesAndReplaces) {
  const std::string path = folder_ + "/a";
  ASSERT_TRUE(WriteFileAtomically(path, "one").ok());
  EXPECT_EQ(*ReadWholeFile(path), "one");
  ASSERT_TRUE(WriteFileAtomically(path, std::string(200'000, 'x')).ok());
  EXPECT_EQ(ReadWholeFile(path)->size(), 200'000u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_),
                          std::filesystem::directory_iterator()),
            1)
      << "nothing is left beside it";
}

TEST_F(AtomicFileTest, FailuresNameThePathAndLeaveNothing) {
  const absl::Status missing = WriteFileAtomically(folder_ + "/no/a", "x");
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), ::testing::HasSubstr("/no/a"));
  std::filesystem::create_directory(folder_ + "/folder");
  EXPECT_FALSE(WriteFileAtomically(folder_ + "/folder", "x").ok());
  EXPECT_EQ(ReadWholeFile(folder_ + "/folder").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadWholeFile(folder_ + "/none").status().code(), absl::StatusCode::kNotFound);
}

// Writing aside and renaming would replace it by a file.
TEST_F(AtomicFileTest, APipeStaysAPipe) {
  const std::string path = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDWR | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  ASSERT_TRUE(WriteFileAtomically(path, "through").ok());
  char buffer[16];
  EXPECT_EQ(read(reader, buffer, sizeof(buffer)), 7);
  EXPECT_TRUE(std::filesystem::is_fifo(path));
  close(reader);
}

}  // namespace
}  // namespace autotune
