// A record store among other processes, locks, full disks and kills.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "soci/soci.h"
#include "soci/sqlite3/soci-sqlite3.h"
#include "tests/hardware/record_store_fixture.h"
#include "tests/hardware/writer_processes.h"

namespace autotune {
namespace {

using record_store_testing::Context;
using record_store_testing::NewRun;
using record_store_testing::StoredCandidate;
using record_store_testing::Tile;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RecordStoreSurvivalTest : public record_store_testing::StoreFixture {};

TEST_F(RecordStoreSurvivalTest, ErrorsSpeakOfTheDatabaseNotOfTheLibraryBetween) {
  Open();
  soci::session(soci::sqlite3, absl::StrCat("dbname=\"", Path(), "\"")) << "DROP TABLE runs";
  const absl::Status status = Open()->ListRuns().status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("no such table: runs"));
  for (const char* word : {"soci", "sqlite3_", "::", "SELECT", "\n"}) {
    EXPECT_EQ(std::string(status.message()).find(word), std::string::npos) << status;
  }
}

// What may only be read can be read; who runs the tests as root may write everything.
TEST_F(RecordStoreSurvivalTest, AStoreThatMayNotBeWrittenIsRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everything";
  {
    const auto store = Open();
    ASSERT_TRUE(store->BeginRun(NewRun("r")).ok());
    ASSERT_TRUE(store->Append({StoredCandidate("r", 0, Tile(1), {1e-6})}).ok());
  }
  using std::filesystem::perms;
  std::filesystem::permissions(folder_, perms::owner_read | perms::owner_exec);
  {
    const auto store = Open();
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(store->RunCandidates("r")->size(), 1u);
    EXPECT_THAT(*store->Verify(), IsEmpty());
    EXPECT_EQ(store->BeginRun(NewRun("s")).code(), absl::StatusCode::kPermissionDenied);
  }
  std::filesystem::permissions(folder_, perms::owner_all);
  std::filesystem::permissions(Path(), perms::owner_read);
  EXPECT_EQ(Open()->ListRuns()->size(), 1u);
}

TEST_F(RecordStoreSurvivalTest, UrlsAreChecked) {
  for (const char* url : {"", "records.db", "sqlite:", "mysql://x/y"}) {
    EXPECT_EQ(RecordStore::Open(url).status().code(), absl::StatusCode::kInvalidArgument) << url;
  }
  for (const char* url :
       {"postgresql://me:hunter2@host/db", "postgres://host/db?password=hunter2",
        "postgres://host/db?PassWord=hunter2", "postgres://host/db?pass%77ord=hunter2"}) {
    const auto store = RecordStore::Open(url);
    EXPECT_EQ(store.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(store.status().message()).find("hunter2"), std::string::npos);
    EXPECT_THAT(std::string(store.status().message()), HasSubstr("PGPASSWORD"));
  }
  EXPECT_EQ(RecordStore::Open("sqlite:/no/such/folder/x.db").status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(RecordStoreSurvivalTest, ALockedDatabaseIsUnavailable) {
  const auto store = Open({.busy_timeout_ms = 50});
  ASSERT_TRUE(store->BeginRun(NewRun("r")).ok());
  soci::session other(soci::sqlite3, absl::StrCat("dbname=\"", Path(), "\""));
  other << "BEGIN IMMEDIATE";
  const absl::Status status = store->Append({StoredCandidate("r", 0, Tile(1), {1})});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("locked"));
  other << "ROLLBACK";
  EXPECT_EQ(store->Totals()->candidates, 0);
  EXPECT_TRUE(store->Append({StoredCandidate("r", 0, Tile(1), {1})}).ok())
      << "and usable afterwards";
}

// Files that may not grow stand in for a full disk.
TEST_F(RecordStoreSurvivalTest, AFullDiskLosesNothingThatWasAcknowledged) {
  {
    const auto store = Open();
    ASSERT_TRUE(store->BeginRun(NewRun("r")).ok());
  }
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto store = Open();
    int64_t acknowledged = 0;
    absl::Status status;
    while (status.ok() && acknowledged < 100'000) {
      std::vector<CandidateRecord> batch;
      for (int64_t i = 0; i < 100; ++i) {
        batch.push_back(StoredCandidate("r", acknowledged + i, Tile(i + 1), {1e-6}));
      }
      status = store->Append(batch);
      if (status.ok()) acknowledged += 100;
    }
    const bool named = absl::IsResourceExhausted(status) || absl::IsUnavailable(status);
    if (!named) acknowledged = -1;
    (void)!write(pipe_ends[1], &acknowledged, sizeof(acknowledged));
    _exit(0);
  }
  int64_t acknowledged = 0;
  ASSERT_EQ(read(pipe_ends[0], &acknowledged, sizeof(acknowledged)),
            static_cast<ssize_t>(sizeof(acknowledged)));
  waitpid(child, nullptr, 0);
  ASSERT_GT(acknowledged, 0);
  ASSERT_LT(acknowledged, 100'000);
  const auto store = Open();
  EXPECT_EQ(store->Totals()->candidates, acknowledged);
  EXPECT_THAT(*store->Verify(), IsEmpty());
  EXPECT_TRUE(store->Append({StoredCandidate("r", 1'000'000, Tile(1), {1})}).ok());
}

// A child appends and reports each acknowledgement until it is killed.
int64_t AppendUntilKilled(const std::string& url, const std::string& run, int milliseconds) {
  int pipe_ends[2];
  EXPECT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(pipe_ends[0]);
    auto store = RecordStore::Open(url);
    if (!store.ok() || !(*store)->BeginRun(NewRun(run)).ok()) _exit(1);
    for (int64_t sequence = 0;; sequence += 2) {
      if (!(*store)
               ->Append({StoredCandidate(run, sequence, Tile(sequence + 1), {1e-6}),
                         StoredCandidate(run, sequence + 1, Tile(sequence + 2), {1e-6})},
                        absl::StrCat("state ", sequence + 2))
               .ok()) {
        _exit(1);
      }
      const int64_t acknowledged = sequence + 2;
      (void)!write(pipe_ends[1], &acknowledged, sizeof(acknowledged));
    }
  }
  close(pipe_ends[1]);
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  kill(child, SIGKILL);
  int64_t acknowledged = 0;
  int64_t next = 0;
  while (read(pipe_ends[0], &next, sizeof(next)) == sizeof(next)) acknowledged = next;
  close(pipe_ends[0]);
  waitpid(child, nullptr, 0);
  return acknowledged;
}

TEST_F(RecordStoreSurvivalTest, KillLosesNothingThatWasAcknowledged) {
  Open();
  for (int round = 0; round < 5; ++round) {
    const std::string run = absl::StrCat("r", round);
    const int64_t acknowledged = AppendUntilKilled(Url(), run, 60 + 37 * round);
    if (acknowledged == 0) continue;  // killed before it began
    const auto store = Open();
    const auto records = store->RunCandidates(run);
    ASSERT_TRUE(records.ok()) << records.status();
    // One batch may have been stored and not yet reported.
    EXPECT_GE(static_cast<int64_t>(records->size()), acknowledged);
    EXPECT_LE(static_cast<int64_t>(records->size()), acknowledged + 2);
    EXPECT_EQ(*store->LoadCheckpoint(run), absl::StrCat("state ", records->size()))
        << "records and checkpoint belong together";
    EXPECT_THAT(*store->Verify(), IsEmpty());
  }
}

TEST_F(RecordStoreSurvivalTest, ManyProcessesWriteAtOnce) {
  constexpr int kWriters = 4;
  constexpr int kBatches = 10;
  constexpr int kBatch = 50;
  WriteFromProcesses(kWriters, [&](int writer) {
    auto store = RecordStore::Open(Url());  // all of them also race to make the tables
    const std::string run = absl::StrCat("writer ", writer);
    if (!store.ok() || !(*store)->BeginRun(NewRun(run)).ok()) return 1;
    for (int64_t batch = 0; batch < kBatches; ++batch) {
      std::vector<CandidateRecord> records;
      for (int64_t i = 0; i < kBatch; ++i) {
        records.push_back(StoredCandidate(run, batch * kBatch + i, Tile(i + 1), {1e-6}));
      }
      if (!(*store)->Append(records).ok()) return 2;
    }
    return 0;
  });
  const auto store = Open();
  EXPECT_EQ(store->Totals()->candidates, kWriters * kBatches * kBatch);
  EXPECT_THAT(*store->Verify(), IsEmpty());
}

TEST_F(RecordStoreSurvivalTest, ThreadsShareOneStore) {
  const auto store = Open();
  ASSERT_TRUE(store->BeginRun(NewRun("r")).ok());
  std::vector<std::thread> threads;
  for (int64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&store, thread] {
      for (int64_t i = 0; i < 20; ++i) {
        EXPECT_TRUE(store->Append({StoredCandidate("r", thread * 100 + i, Tile(i + 1), {1})}).ok());
        EXPECT_TRUE(store->Lookup(0xfedcba9876543210u, Context(), VersionMatch::kStrict).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store->Totals()->candidates, 80);
}

}  // namespace
}  // namespace autotune
