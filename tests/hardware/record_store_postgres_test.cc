// The record store on PostgreSQL. ctest runs these tests with a private server
// (record_store_postgres, see scripts/with_postgres); without one they are skipped.

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hardware/journaled_store.h"
#include "hardware/record_store.h"
#include "hardware/record_transfer.h"
#include "hardware/recording.h"
#include "soci/soci.h"
#include "tests/hardware/writer_processes.h"

namespace autotune {
namespace {

CandidateRecord Record(const std::string& run, int64_t sequence) {
  CandidateRecord record;
  record.run_id = run;
  record.sequence = sequence;
  record.kernel_fingerprint = 0xfedcba9876543210u;
  record.kernel_name = "k";
  record.context = {"tpu-v3", "pjrt", "v", "", TimeSource::kHardware};
  record.config = Config(TileBounds{.output = {sequence + 1}});
  record.fate = Fate::kMeasured;
  record.measurement = Measurement::FromSamples({1e-6 / 3}, TimeSource::kHardware);
  record.unix_micros = sequence;
  return record;
}

class PostgresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* url = std::getenv("AUTOTUNE_TEST_POSTGRES");
    if (url == nullptr) GTEST_SKIP() << "needs AUTOTUNE_TEST_POSTGRES";
    url_ = url;
  }
  std::unique_ptr<RecordStore> Open() const {
    auto store = RecordStore::Open(url_);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }
  std::string url_;
};

// Waiting for a server that says no would only hide what is wrong.
TEST_F(PostgresTest, WhoIsRefusedIsToldSo) {
  std::string stranger = url_;
  stranger.replace(stranger.find("autotune@"), 8, "stranger");
  const absl::Status status = RecordStore::Open(stranger).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("stranger"));
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("PGPASSWORD"));
  EXPECT_EQ(std::string(status.message()).find("is the server up"), std::string::npos);
}

TEST_F(PostgresTest, KeepsEverythingThatSqliteKeeps) {
  const auto store = Open();
  ASSERT_NE(store, nullptr);
  const std::string run = NewRunId();
  ASSERT_TRUE(store->BeginRun({.id = run, .program = "it's \"p\"", .seed = ~0ull}).ok());
  EXPECT_EQ(store->BeginRun({.id = run}).code(), absl::StatusCode::kAlreadyExists);
  std::vector<CandidateRecord> records = {Record(run, 0), Record(run, 1), Record(run, 2)};
  records[1].measurement =
      Measurement::FromFailure(FailureKind::kCrash, std::string("a\0'\xff", 4));
  records[2].predictions = {{"analytical", -1.5, 3}};
  ASSERT_TRUE(store->Append(records, std::string("\0state", 6)).ok());
  ASSERT_TRUE(store->Append(records).ok()) << "again, which changes nothing";
  EXPECT_EQ(*store->LoadCheckpoint(run), std::string("\0state", 6));
  const auto back = store->RunCandidates(run);
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_EQ(back->size(), 3u);
  EXPECT_EQ((*back)[0].kernel_fingerprint, 0xfedcba9876543210u);
  EXPECT_EQ((*back)[0].measurement->samples()[0], 1e-6 / 3);
  EXPECT_EQ((*back)[1].measurement->failure().message, "a?'?");
  EXPECT_EQ((*back)[2].predictions, records[2].predictions);
  EXPECT_EQ(store->GetRun(run)->seed, ~0ull);
  ASSERT_TRUE(store->FinishRun(run, 12, "done").ok());
  EXPECT_EQ(store->GetRun(run)->finished_unix_micros, 12);
  EXPECT_FALSE(store->Append({Record("no such run", 0)}).ok());
  EXPECT_THAT(*store->Verify(), ::testing::IsEmpty());
}

// Here candidates must have a run and a context, so what goes has an order.
TEST_F(PostgresTest, WhatIsDamagedIsTakenOut) {
  const auto store = Open();
  ASSERT_NE(store, nullptr);
  const std::string run = NewRunId();
  ASSERT_TRUE(store->BeginRun({.id = run}).ok());
  std::vector<CandidateRecord> records = {Record(run, 0), Record(run, 1), Record(run, 2)};
  records[2].context.flags = run;
  ASSERT_TRUE(store->Append(records).ok());
  {
    soci::session sql("postgresql", url_);
    sql << "UPDATE candidates SET samples = '1e-07' WHERE sequence = 1 AND run = '" + run + "'";
    sql << "UPDATE contexts SET device = 'x' WHERE flags = '" + run + "'";
    sql << "UPDATE runs SET seed = 8 WHERE id = '" + run + "'";
  }
  EXPECT_EQ(store->Verify()->size(), 4u);
  const auto counts = store->Prune({.damaged = true});
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->candidates, 2);
  EXPECT_EQ(counts->mended_runs, 1);
  EXPECT_THAT(*store->Verify(), ::testing::IsEmpty());
  EXPECT_EQ(store->RunCandidates(run)->size(), 1u);
  EXPECT_EQ(store->GetRun(run)->outcome, kMendedOutcome);
}

TEST_F(PostgresTest, ImportsARecordingAndLooksItUp) {
  const auto recording =
      Recording::Load(absl::StrCat(AUTOTUNE_SOURCE_DIR, "/examples/alexnet/tpu_v3.pb"));
  ASSERT_TRUE(recording.ok()) << recording.status();
  const auto store = Open();
  ASSERT_NE(store, nullptr);
  ASSERT_TRUE(ImportRecording(*store, *recording, NewRunId(), 5).ok());
  const RecordedKernel& kernel = recording->kernels()[0];
  const auto results =
      store->Lookup(kernel.kernel().fingerprint,
                    {"tpu-v3", "tpugraphs", "", "", TimeSource::kHardware}, VersionMatch::kStrict);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->size(), kernel.configs().size());
}

TEST_F(PostgresTest, ManyProcessesMakeTheTablesAndWrite) {
  const std::string prefix = NewRunId();
  WriteFromProcesses(4, [&](int writer) {
    auto store = RecordStore::Open(url_);
    const std::string run = absl::StrCat(prefix, "-", writer);
    if (!store.ok() || !(*store)->BeginRun({.id = run}).ok()) return 1;
    for (int64_t i = 0; i < 200; i += 2) {
      if (!(*store)->Append({Record(run, i), Record(run, i + 1)}).ok()) return 2;
    }
    return 0;
  });
  const auto store = Open();
  ASSERT_NE(store, nullptr);
  for (int writer = 0; writer < 4; ++writer) {
    EXPECT_EQ(store->RunCandidates(absl::StrCat(prefix, "-", writer))->size(), 200u);
  }
}

TEST_F(PostgresTest, AnotherResultUnderTheSameNameIsRefused) {
  const auto store = Open();
  const std::string run = NewRunId();
  ASSERT_TRUE(store->BeginRun({.id = run}).ok());
  ASSERT_TRUE(store->Append({Record(run, 0)}).ok());
  CandidateRecord differs = Record(run, 0);
  differs.measurement = Measurement::FromSamples({5}, TimeSource::kHardware);
  EXPECT_EQ(store->Append({differs}).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(store->Prune({.runs = {run}, .dry_run = true})->candidates, 1);
  EXPECT_EQ(store->Prune({.runs = {run}})->candidates, 1);
  EXPECT_EQ(store->GetRun(run).status().code(), absl::StatusCode::kNotFound);
}

// The server dies in the middle of a run and comes back: the run goes on, and nothing is lost.
TEST_F(PostgresTest, ARunOutlivesTheServer) {
  const char* stop = std::getenv("AUTOTUNE_TEST_POSTGRES_STOP");
  const char* start = std::getenv("AUTOTUNE_TEST_POSTGRES_START");
  if (stop == nullptr || start == nullptr) GTEST_SKIP() << "needs scripts/with_postgres";
  const std::string journal = absl::StrCat(::testing::TempDir(), "/pg_journal_", getpid());
  std::vector<std::string> messages;
  auto store = OpenJournaledStore(
      Open(), {.path = journal,
               .patience_seconds = 20,
               .append_patience_seconds = 0.1,
               .notify = [&](const std::string& message) { messages.push_back(message); }});
  ASSERT_TRUE(store.ok()) << store.status();
  const std::string run = NewRunId();
  ASSERT_TRUE((*store)->BeginRun({.id = run}).ok());
  ASSERT_TRUE((*store)->Append({Record(run, 0)}).ok());
  ASSERT_EQ(std::system(stop), 0);
  EXPECT_TRUE((*store)->Append({Record(run, 1)}).ok());
  EXPECT_TRUE((*store)->Append({Record(run, 2)}).ok());
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_THAT(messages[0], ::testing::HasSubstr("results wait in"));
  ASSERT_EQ(std::system(start), 0);
  EXPECT_TRUE((*store)->Append({Record(run, 3)}).ok());
  ASSERT_TRUE((*store)->FinishRun(run, 9, "done").ok());
  EXPECT_EQ((*store)->RunCandidates(run)->size(), 4u);
  EXPECT_THAT(*(*store)->Verify(), ::testing::IsEmpty());
  std::remove(journal.c_str());
}

// Killed at random moments: what was acknowledged is there.
TEST_F(PostgresTest, KillLosesNothingThatWasAcknowledged) {
  for (int round = 0; round < 5; ++round) {
    const std::string run = NewRunId();
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto store = RecordStore::Open(url_);
      if (!store.ok() || !(*store)->BeginRun({.id = run}).ok()) _exit(1);
      for (int64_t i = 0; (*store)->Append({Record(run, i)}).ok();) {
        ++i;
        (void)!write(pipe_ends[1], &i, sizeof(i));
      }
      _exit(1);
    }
    close(pipe_ends[1]);
    usleep(static_cast<useconds_t>(40'000 + 23'000 * round));
    kill(child, SIGKILL);
    int64_t acknowledged = 0, next = 0;
    while (read(pipe_ends[0], &next, sizeof(next)) == sizeof(next)) acknowledged = next;
    close(pipe_ends[0]);
    waitpid(child, nullptr, 0);
    if (acknowledged == 0) continue;
    const auto records = Open()->RunCandidates(run);
    ASSERT_TRUE(records.ok()) << records.status();
    EXPECT_GE(static_cast<int64_t>(records->size()), acknowledged);
    EXPECT_LE(static_cast<int64_t>(records->size()), acknowledged + 1);
  }
}

TEST(Postgres, AServerThatIsDownIsUnavailable) {
  const auto store = RecordStore::Open("postgresql://nobody@127.0.0.1:1/none");
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().code(), absl::StatusCode::kUnavailable) << store.status();
  EXPECT_EQ(std::string(store.status().message()).find('\n'), std::string::npos);
}

}  // namespace
}  // namespace autotune
