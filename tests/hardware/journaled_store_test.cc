#include "hardware/journaled_store.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hardware/atomic_file.h"
#include "hardware/record_journal.h"
#include "soci/soci.h"
#include "soci/sqlite3/soci-sqlite3.h"

namespace autotune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CandidateRecord CandidateNumber(int64_t sequence) {
  CandidateRecord record;
  record.run_id = "r";
  record.sequence = sequence;
  record.kernel_fingerprint = 5;
  record.kernel_name = "fusion.1";
  record.context = {"tpu-v3", "replay", "", "", TimeSource::kHardware};
  record.config = Config(TileBounds{.output = {sequence + 1}});
  record.fate = Fate::kMeasured;
  record.measurement = Measurement::FromSamples({1e-6 / 3}, TimeSource::kHardware);
  record.unix_micros = 1000 + sequence;
  return record;
}

class JournalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(::testing::TempDir(), "/journal_",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name(), "_",
                           getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string JournalPath() const { return folder_ + "/journal"; }
  std::string StorePath() const { return folder_ + "/s.db"; }

  std::unique_ptr<RecordStore> Open() {
    auto store = RecordStore::Open(absl::StrCat("sqlite:", StorePath()), {.busy_timeout_ms = 20});
    EXPECT_TRUE(store.ok()) << store.status();
    auto journaled = OpenJournaledStore(
        *std::move(store),
        {.path = JournalPath(),
         .patience_seconds = 0.2,
         .append_patience_seconds = 0.1,
         .notify = [this](const std::string& message) { messages_.push_back(message); }});
    EXPECT_TRUE(journaled.ok()) << journaled.status();
    return journaled.ok() ? *std::move(journaled) : nullptr;
  }

  // Another program that keeps the database to itself while it lives.
  std::unique_ptr<soci::session> Lock() {
    auto session = std::make_unique<soci::session>(soci::sqlite3,
                                                   absl::StrCat("dbname=\"", StorePath(), "\""));
    *session << "BEGIN IMMEDIATE";
    return session;
  }

  std::string folder_;
  std::vector<std::string> messages_;
};

TEST_F(JournalTest, ResultsWaitWhileTheStoreIsAwayAndFollow) {
  auto store = Open();
  ASSERT_NE(store, nullptr);
  ASSERT_TRUE(store->BeginRun({.id = "r"}).ok());
  auto lock = Lock();
  for (int64_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(store->Append({CandidateNumber(i)}, absl::StrCat("state ", i)).ok())
        << "it goes on";
  }
  EXPECT_THAT(messages_, ElementsAre(HasSubstr("results wait in")));
  const absl::Status finish = store->FinishRun("r", 9, "done");
  EXPECT_EQ(finish.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(finish.message()), HasSubstr("5 results wait in"));
  lock = nullptr;
  ASSERT_TRUE(store->FinishRun("r", 9, "done").ok());
  EXPECT_THAT(messages_.back(), HasSubstr("5 results stored"));
  EXPECT_EQ(store->RunCandidates("r")->size(), 5u);
  EXPECT_EQ(*store->LoadCheckpoint("r"), "state 4");
  EXPECT_EQ(std::filesystem::file_size(JournalPath()), 0u);
  EXPECT_THAT(*store->Verify(), IsEmpty());
}

TEST_F(JournalTest, ACallThatWaitsForTheStoreSaysSo) {
  auto store = Open();
  ASSERT_NE(store, nullptr);
  auto lock = Lock();
  EXPECT_EQ(store->BeginRun({.id = "r"}).code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(messages_, ElementsAre(HasSubstr("trying again for up to 200ms")));
}

TEST_F(JournalTest, WhatWaitedWhenTheProcessDiedIsStoredByTheNext) {
  Open()->BeginRun({.id = "r"}).IgnoreError();
  auto lock = Lock();
  const pid_t child = fork();
  if (child == 0) {
    // The lock's descriptor must not be closed here: that would drop it for the parent too.
    auto store = Open();
    const bool ok = store != nullptr &&
                    store->Append({CandidateNumber(0), CandidateNumber(1)}).ok() &&
                    store->Append({CandidateNumber(2)}, "state").ok();
    kill(getpid(), ok ? SIGKILL : SIGABRT);
  }
  int exit_status = 0;
  waitpid(child, &exit_status, 0);
  ASSERT_EQ(WTERMSIG(exit_status), SIGKILL);
  lock = nullptr;
  const auto store = Open();
  ASSERT_NE(store, nullptr);
  const auto records = store->RunCandidates("r");
  ASSERT_TRUE(records.ok()) << records.status();
  ASSERT_EQ(records->size(), 3u);
  EXPECT_EQ((*records)[2].measurement->samples()[0], 1e-6 / 3);
  EXPECT_EQ(*store->LoadCheckpoint("r"), "state");
}

TEST_F(JournalTest, DyingBetweenStoreAndJournalStoresNothingTwice) {
  {
    auto store = Open();
    ASSERT_TRUE(store->BeginRun({.id = "r"}).ok());
    ASSERT_TRUE(store->Append({CandidateNumber(0)}).ok());
  }
  {
    auto journal = RecordJournal::Open(JournalPath());
    ASSERT_TRUE((*journal)->Append({CandidateNumber(0)}).ok());
  }
  const auto store = Open();
  EXPECT_EQ(store->RunCandidates("r")->size(), 1u);
}

TEST_F(JournalTest, ACutLineIsDropped) {
  {
    auto journal = RecordJournal::Open(JournalPath());
    ASSERT_TRUE(journal.ok()) << journal.status();
    ASSERT_TRUE(
        (*journal)->Append({CandidateNumber(0), CandidateNumber(1), CandidateNumber(2)}).ok());
  }
  const std::string whole = *ReadWholeFile(JournalPath());
  const size_t second = whole.find('\n') + 1, third = whole.find('\n', second) + 1;
  for (size_t length = third; length < whole.size(); length += 13) {
    std::ofstream(JournalPath(), std::ios::trunc) << whole.substr(0, length);
    auto journal = RecordJournal::Open(JournalPath());
    ASSERT_TRUE(journal.ok()) << journal.status();
    EXPECT_EQ((*journal)->pending().size(), 2u);
    EXPECT_EQ(std::filesystem::file_size(JournalPath()), third);
  }
}

// A user had to delete the line by hand.
TEST_F(JournalTest, ADamagedLineIsSetAsideAndTheRestIsStored) {
  Open()->BeginRun({.id = "r"}).IgnoreError();
  {
    auto journal = RecordJournal::Open(JournalPath());
    ASSERT_TRUE((*journal)
                    ->Append({CandidateNumber(0), CandidateNumber(1), CandidateNumber(2)}, "state")
                    .ok());
  }
  std::string text = *ReadWholeFile(JournalPath());
  const size_t second = text.find('\n') + 1;
  text[second + 40] ^= 1;
  const std::string damaged = text.substr(second, text.find('\n', second) + 1 - second);
  std::ofstream(JournalPath(), std::ios::trunc) << text;
  for (int start = 0; start < 2; ++start) {  // the first one ends before it could store the rest
    auto journal = RecordJournal::Open(JournalPath());
    ASSERT_TRUE(journal.ok()) << journal.status();
    EXPECT_EQ((*journal)->set_aside(), start == 0 ? 1 : 0);
    EXPECT_EQ((*journal)->pending().size(), 2u);
    EXPECT_EQ(*ReadWholeFile((*journal)->SetAsidePath()), damaged);
  }
  std::filesystem::remove(JournalPath() + ".damaged");
  const auto store = Open();
  EXPECT_THAT(messages_, ElementsAre(HasSubstr("journal.damaged")));
  const auto records = store->RunCandidates("r");
  ASSERT_TRUE(records.ok()) << records.status();
  ASSERT_EQ(records->size(), 2u);
  EXPECT_EQ((*records)[1].sequence, 2);
  EXPECT_EQ(*store->LoadCheckpoint("r"), "state");
  EXPECT_EQ(std::filesystem::file_size(JournalPath()), 0u);
  EXPECT_EQ(*ReadWholeFile(JournalPath() + ".damaged"), damaged);
}

TEST_F(JournalTest, OfDamageAloneNothingStays) {
  std::ofstream(JournalPath()) << "0123456789abcdef {\"what\": 1}\nand this\n";
  for (int start = 0; start < 2; ++start) {
    auto journal = RecordJournal::Open(JournalPath());
    ASSERT_TRUE(journal.ok()) << journal.status();
    EXPECT_TRUE((*journal)->empty());
    EXPECT_EQ((*journal)->set_aside(), start == 0 ? 2 : 0);
    EXPECT_EQ(std::filesystem::file_size(JournalPath()), 0u);
  }
}

TEST_F(JournalTest, OneProcessAtATime) {
  const auto store = Open();
  const auto second = RecordJournal::Open(JournalPath());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition) << second.status();
}

// The journal's disk is full and the store is away: the caller learns it, and neither keeps half.
TEST_F(JournalTest, WithoutAPlaceForThemResultsAreRefused) {
  auto store = Open();
  ASSERT_TRUE(store->BeginRun({.id = "r"}).ok());
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {400, 400};
    setrlimit(RLIMIT_FSIZE, &limit);
    store = nullptr;
    auto own = OpenJournaledStore(
        *RecordStore::Open(absl::StrCat("sqlite:", StorePath()), {.busy_timeout_ms = 20}),
        {.path = JournalPath() + "2", .patience_seconds = 0.1, .append_patience_seconds = 0.1});
    if (!own.ok()) _exit(1);
    const absl::Status status =
        (*own)->Append({CandidateNumber(0), CandidateNumber(1), CandidateNumber(2)});
    if (status.ok()) _exit(2);
    _exit(std::filesystem::file_size(JournalPath() + "2") == 0 ? 0 : 3);
  }
  int exit_status = -1;
  waitpid(child, &exit_status, 0);
  EXPECT_EQ(exit_status, 0);
  EXPECT_EQ(store->RunCandidates("r")->size(), 0u);
}

}  // namespace
}  // namespace autotune
