#include "hardware/scratch_folder.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace autotune {
namespace {

namespace fs = std::filesystem;

class ScratchFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    parent_ = absl::StrCat(testing::TempDir(), "/scratch-test-", getpid());
    fs::create_directories(parent_);
    setenv("TMPDIR", parent_.c_str(), 1);
  }
  void TearDown() override {
    fs::remove_all(parent_);
    before_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before_.c_str(), 1);
  }

  static std::unique_ptr<ScratchFolder> Make() {
    absl::StatusOr<std::unique_ptr<ScratchFolder>> folder = ScratchFolder::Create("test");
    EXPECT_TRUE(folder.ok()) << folder.status();
    return folder.ok() ? *std::move(folder) : nullptr;
  }

  // A process that has a folder, and lives until it is killed.
  static pid_t OwnerProcess() {
    int ready[2];
    if (pipe(ready) != 0) return -1;
    const pid_t child = fork();
    if (child == 0) {
      const auto folder = ScratchFolder::Create("test");
      if (folder.ok()) std::ofstream((*folder)->work() + "/dump") << "half a sch";
      (void)!write(ready[1], "x", 1);
      for (;;) pause();
    }
    char byte = 0;
    (void)!read(ready[0], &byte, 1);
    close(ready[0]);
    close(ready[1]);
    return child;
  }

  static void Kill(pid_t process) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }

  int64_t Folders() const {
    return std::distance(fs::directory_iterator(parent_), fs::directory_iterator());
  }

  std::string before_;
  std::string parent_;
};

TEST_F(ScratchFolderTest, IsGoneWithItsOwner) {
  std::unique_ptr<ScratchFolder> folder = Make();
  ASSERT_NE(folder, nullptr);
  std::string temporary;
  std::string named;
  for (const auto& [name, value] : folder->WorkerEnvironment()) {
    if (name == "TMPDIR") temporary = value;
    if (name == "AUTOTUNE_SCRATCH") named = value;
  }
  EXPECT_EQ(named, folder->path());
  std::ofstream(temporary + "/library.log") << "x";
  std::ofstream(folder->work() + "/dump") << "x";
  EXPECT_TRUE(fs::exists(temporary + "/library.log"));
  folder->Empty();
  EXPECT_TRUE(fs::is_empty(temporary));
  EXPECT_TRUE(fs::is_empty(folder->work()));
  std::ofstream(temporary + "/library.log") << "x";
  folder.reset();
  EXPECT_EQ(Folders(), 0);
}

TEST_F(ScratchFolderTest, FoldersOfTheDeadGoAndThoseOfTheLivingStay) {
  const pid_t living = OwnerProcess();
  const pid_t dead = OwnerProcess();
  ASSERT_GT(living, 0);
  ASSERT_GT(dead, 0);
  Kill(dead);
  EXPECT_EQ(Folders(), 2);
  const std::unique_ptr<ScratchFolder> folder = Make();
  const std::unique_ptr<ScratchFolder> another = Make();  // its own ones are of the living
  EXPECT_EQ(Folders(), 3);
  Kill(living);
  EXPECT_NE(Make(), nullptr);
  EXPECT_EQ(Folders(), 2);
}

// A maker that died before it had the lock.
TEST_F(ScratchFolderTest, UnfinishedFoldersGoAfterAWhile) {
  const std::string old = parent_ + "/autotune-scratch-test-old000";
  const std::string young = parent_ + "/autotune-scratch-test-young0";
  const std::string other = parent_ + "/somebody-elses";
  for (const std::string& path : {old, young, other}) fs::create_directory(path);
  for (const std::string& path : {old, other}) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  EXPECT_NE(Make(), nullptr);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
  EXPECT_TRUE(fs::exists(other));
}

// A link that bears such a name does not lead the removal astray.
TEST_F(ScratchFolderTest, LinksAreNotFollowed) {
  const std::string target = parent_ + "/precious";
  fs::create_directory(target);
  std::ofstream(target + "/lock") << "x";
  std::ofstream(target + "/file") << "x";
  fs::create_directory_symlink(target, parent_ + "/autotune-scratch-test-link00");
  EXPECT_NE(Make(), nullptr);
  EXPECT_TRUE(fs::exists(target + "/file"));
}

TEST_F(ScratchFolderTest, AWorkerRemovesTheFolderOfItsDeadParentOnly) {
  const std::unique_ptr<ScratchFolder> folder = Make();
  const pid_t process = OwnerProcess();
  std::string dead;
  for (const auto& entry : fs::directory_iterator(parent_)) {
    if (entry.path() != folder->path()) dead = entry.path();
  }
  Kill(process);
  setenv("AUTOTUNE_SCRATCH", dead.c_str(), 1);
  RemoveScratchOfDeadParent();
  EXPECT_FALSE(fs::exists(dead));
  setenv("AUTOTUNE_SCRATCH", parent_.c_str(), 1);  // no such folder
  RemoveScratchOfDeadParent();
  EXPECT_TRUE(fs::exists(folder->work()));
  unsetenv("AUTOTUNE_SCRATCH");
}

TEST_F(ScratchFolderTest, AnErrorNamesTheVariable) {
  setenv("TMPDIR", (parent_ + "/nowhere").c_str(), 1);
  const absl::Status status = ScratchFolder::Create("test").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "TMPDIR")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), parent_ + "/nowhere")) << status;
}

}  // namespace
}  // namespace autotune
