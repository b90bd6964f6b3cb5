// Rows, files and schemas of a record store that are not what was written.

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hardware/record_store_schema.h"
#include "hardware/record_transfer.h"
#include "hardware/recording.h"
#include "soci/soci.h"
#include "soci/sqlite3/soci-sqlite3.h"
#include "tests/hardware/record_store_fixture.h"

namespace autotune {
namespace {

using record_store_testing::Context;
using record_store_testing::NewRun;
using record_store_testing::StoredCandidate;
using record_store_testing::Tile;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RecordStoreDamageTest : public record_store_testing::StoreFixture {};

TEST_F(RecordStoreDamageTest, VerifyNamesDamagedRecords) {
  {
    const auto store = Open();
    ASSERT_TRUE(store->BeginRun(NewRun("r")).ok());
    std::vector<CandidateRecord> records;
    for (int i = 0; i < 10; ++i) records.push_back(StoredCandidate("r", i, Tile(i + 1), {1e-6}));
    ASSERT_TRUE(store->Append(records, "state").ok());
  }
  {
    soci::session sql(soci::sqlite3, absl::StrCat("dbname=\"", Path(), "\""));
    sql << "UPDATE candidates SET samples = '1e-07' WHERE sequence = 4";
    sql << "UPDATE candidates SET config = 'nonsense' WHERE sequence = 7";
    sql << "UPDATE checkpoints SET state = 'AAAA'";
  }
  const auto store = Open();
  const auto damaged = store->Verify();
  ASSERT_TRUE(damaged.ok()) << damaged.status();
  ASSERT_EQ(damaged->size(), 3u);
  EXPECT_EQ((*damaged)[0].where, "candidate 4 of run r");
  EXPECT_THAT((*damaged)[0].what, HasSubstr("checksum"));
  EXPECT_EQ((*damaged)[1].where, "candidate 7 of run r");
  EXPECT_EQ((*damaged)[2].where, "checkpoint of run r");
  EXPECT_EQ(store->LoadCheckpoint("r").status().code(), absl::StatusCode::kDataLoss);
  const auto lookup = store->Lookup(0xfedcba9876543210u, Context(), VersionMatch::kStrict);
  EXPECT_EQ(lookup.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(lookup.status().message()), HasSubstr("configuration nonsense"));
}

// Damage must not be read, and so exported as if all were well, by anything but a look-up.
TEST_F(RecordStoreDamageTest, ChangedRowsAreNotRead) {
  const std::pair<const char*, const char*> cases[] = {
      {"UPDATE candidates SET samples = '1e-07'", "candidate 0 of run r: its checksum is wrong"},
      {"UPDATE contexts SET device = 'tpu-v4'", "candidate 0 of run r: its context is lost"},
      {"UPDATE contexts SET source = 'hardly'", "candidate 0 of run r: its context is lost"},
      {"UPDATE runs SET seed = 8", "run r is damaged"},
      {"UPDATE runs SET outcome = 'x'", "run r is damaged"},
  };
  for (const auto& [statement, message] : cases) {
    std::filesystem::remove(Path());
    {
      const auto store = Open();
      ASSERT_TRUE(store->BeginRun(NewRun("r")).ok());
      ASSERT_TRUE(store->Append({StoredCandidate("r", 0, Tile(1), {1e-6})}).ok());
      ASSERT_TRUE(store->FinishRun("r", 20, "done").ok());
      ASSERT_TRUE(ExportJsonLines(*store).ok());
    }
    soci::session(soci::sqlite3, absl::StrCat("dbname=\"", Path(), "\"")) << statement;
    const auto store = Open();
    const absl::Status status = ExportJsonLines(*store).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << statement;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
    EXPECT_THAT(std::string(status.message()), HasSubstr("records verify"));
    EXPECT_FALSE(store->Verify()->empty()) << statement;
    // The way out that the message names.
    EXPECT_TRUE(store->Prune({.runs = {"r"}}).ok());
    EXPECT_THAT(*store->Verify(), IsEmpty()) << statement;
  }
}

TEST_F(RecordStoreDamageTest, VerifyNamesWhatLostItsRunOrIsAnotherKernel) {
  const absl::StatusOr<Recording> recording =
      Recording::Load(AUTOTUNE_SOURCE_DIR "/examples/alexnet/tpu_v3.pb");
  ASSERT_TRUE(recording.ok()) << recording.status();
  const Kernel& kernel = recording->kernels()[0].kernel();
  {
    const auto store = Open();
    ASSERT_TRUE(store->BeginRun(NewRun("r")).ok());
    ASSERT_TRUE(store->PutKernels({kernel}).ok());
    ASSERT_TRUE(store->Append({StoredCandidate("r", 0, Tile(1), {1e-6})}).ok());
  }
  {
    soci::session sql(soci::sqlite3, absl::StrCat("dbname=\"", Path(), "\""));
    sql << "DELETE FROM runs";
    sql << "UPDATE kernels SET fingerprint = fingerprint + 1";
  }
  const auto store = Open();
  const auto damaged = store->Verify();
  ASSERT_TRUE(damaged.ok()) << damaged.status();
  ASSERT_EQ(damaged->size(), 2u);
  EXPECT_EQ((*damaged)[0].where, "candidate 0 of run r");
  EXPECT_EQ((*damaged)[0].what, "its run is not stored");
  EXPECT_EQ((*damaged)[1].where, absl::StrCat("kernel ", kernel.name));
  EXPECT_THAT((*damaged)[1].what, HasSubstr("fingerprint"));
  EXPECT_TRUE(store->Prune({.runs = {"r"}}).ok());
}

// What Verify names goes or is mended; what is well stays, also where its run was lost.
TEST_F(RecordStoreDamageTest, PruneTakesOutWhatIsDamagedAndNothingElse) {
  const absl::StatusOr<Recording> recording =
      Recording::Load(AUTOTUNE_SOURCE_DIR "/examples/alexnet/tpu_v3.pb");
  ASSERT_TRUE(recording.ok()) << recording.status();
  {
    const auto store = Open();
    for (const char* run : {"a", "b", "c"}) {
      ASSERT_TRUE(store->BeginRun(NewRun(run)).ok());
      std::vector<CandidateRecord> records;
      for (int64_t i = 0; i < 3; ++i)
        records.push_back(StoredCandidate(run, i, Tile(i + 1), {1e-6}));
      records[2].context.flags = absl::StrCat("--flag-of-", run);
      ASSERT_TRUE(store->Append(records, "state").ok());
    }
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(store->PutKernels({recording->kernels()[static_cast<size_t>(i)].kernel()}).ok());
    }
  }
  {
    soci::session sql(soci::sqlite3, absl::StrCat("dbname=\"", Path(), "\""));
    sql << "UPDATE candidates SET samples = '1e-07' WHERE run = 'a' AND sequence = 1";
    sql << "UPDATE contexts SET flags = 'x' WHERE flags = '--flag-of-a'";
    sql << "UPDATE runs SET seed = 8 WHERE id = 'b'";
    sql << "DELETE FROM runs WHERE id = 'c'";
    sql << "UPDATE checkpoints SET state = 'AAAA' WHERE run = 'b'";
    sql << "UPDATE kernels SET name = 'x' WHERE name = '" + recording->kernels()[0].kernel().name +
               "'";
  }
  const auto store = Open();
  const size_t found = store->Verify()->size();
  EXPECT_EQ(found, 9u);  // the context and the candidate in it; c's three candidates lost their run
  const auto dry = store->Prune({.damaged = true, .dry_run = true});
  ASSERT_TRUE(dry.ok()) << dry.status();
  EXPECT_EQ(dry->damaged.size(), found);
  EXPECT_EQ(store->Verify()->size(), found);
  const auto counts = store->Prune({.damaged = true});
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->candidates, 2);
  EXPECT_EQ(counts->kernels, 1);
  EXPECT_EQ(counts->mended_runs, 2);
  EXPECT_THAT(*store->Verify(), IsEmpty());
  EXPECT_EQ(store->RunCandidates("a")->size(), 1u);
  EXPECT_EQ(store->RunCandidates("b")->size(), 3u);
  EXPECT_EQ(store->RunCandidates("c")->size(), 3u);
  EXPECT_EQ(store->GetRun("a")->outcome, "");
  EXPECT_EQ(store->GetRun("b")->outcome, kMendedOutcome);
  EXPECT_EQ(store->GetRun("c")->started_unix_micros, 1000);
  EXPECT_EQ(store->Totals()->kernels, 1);
  EXPECT_TRUE(store->Prune({.damaged = true})->damaged.empty());
  EXPECT_EQ(store->Prune({.runs = {"a"}, .damaged = true}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// It was read as if all were well.
TEST_F(RecordStoreDamageTest, AKernelUnderAnotherFingerprintIsNotRead) {
  const absl::StatusOr<Recording> recording =
      Recording::Load(AUTOTUNE_SOURCE_DIR "/examples/alexnet/tpu_v3.pb");
  ASSERT_TRUE(recording.ok()) << recording.status();
  const Kernel& kernel = recording->kernels()[0].kernel();
  ASSERT_TRUE(Open()->PutKernels({kernel}).ok());
  soci::session(soci::sqlite3, absl::StrCat("dbname=\"", Path(), "\""))
      << "UPDATE kernels SET fingerprint = fingerprint + 1";
  const absl::Status status = Open()->GetKernel(kernel.fingerprint + 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("prune --damaged"));
}

// A value that no measurement can have is damage, wherever it stands.
TEST_F(RecordStoreDamageTest, ImpossibleNumbersNameTheirRecord) {
  {
    const auto store = Open();
    ASSERT_TRUE(store->BeginRun(NewRun("r")).ok());
    ASSERT_TRUE(store->Append({StoredCandidate("r", 0, Tile(1), {1e-6})}).ok());
  }
  const std::pair<const char*, const char*> cases[] = {
      {"compile_seconds = 'nan'", "compile_seconds holds \"nan\""},
      {"compile_seconds = '-1'", "compile_seconds holds \"-1\""},
      {"compile_seconds = '', compiler_estimate = 'inf'", "compiler_estimate holds \"inf\""},
      {"compiler_estimate = '-1e-9'", "compiler_estimate holds \"-1e-9\""},
      {"compiler_estimate = '', samples = '1e-6,nan'", "samples holds \"1e-6,nan\""},
      {"samples = ''", "it is measured and holds no result"},
      {"samples = '1', predictions = '[[\"m\",\"1\",-1]]'", "predictions holds"},
  };
  for (const auto& [assignment, message] : cases) {
    soci::session(soci::sqlite3, absl::StrCat("dbname=\"", Path(), "\""))
        << "UPDATE candidates SET " << assignment;
    const auto records = Open()->RunCandidates("r");
    EXPECT_EQ(records.status().code(), absl::StatusCode::kDataLoss) << assignment;
    EXPECT_THAT(std::string(records.status().message()), HasSubstr("candidate 0 of run r"));
    EXPECT_THAT(std::string(records.status().message()), HasSubstr(message));
  }
}

TEST_F(RecordStoreDamageTest, ADamagedOrForeignFileIsNamed) {
  std::ofstream(Path()) << std::string(5000, 'x');
  const auto garbage = RecordStore::Open(Url());
  EXPECT_EQ(garbage.status().code(), absl::StatusCode::kDataLoss) << garbage.status();
  EXPECT_THAT(std::string(garbage.status().message()), HasSubstr(Path()));
}

TEST_F(RecordStoreDamageTest, ANewerSchemaIsRefusedByName) {
  Open();
  {
    soci::session sql(soci::sqlite3, absl::StrCat("dbname=\"", Path(), "\""));
    sql << "UPDATE schema_info SET version = 999";
  }
  const auto newer = RecordStore::Open(Url());
  EXPECT_EQ(newer.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(newer.status().message()), HasSubstr("schema version 999"));
}

TEST_F(RecordStoreDamageTest, ASchemaVersionOfNoReleaseIsDamage) {
  for (const char* statement : {"UPDATE schema_info SET version = -5",
                                "UPDATE schema_info SET version = 0", "DELETE FROM schema_info"}) {
    std::filesystem::remove(Path());
    Open();
    soci::session(soci::sqlite3, absl::StrCat("dbname=\"", Path(), "\"")) << statement;
    EXPECT_EQ(RecordStore::Open(Url()).status().code(), absl::StatusCode::kDataLoss) << statement;
  }
}

}  // namespace
}  // namespace autotune
