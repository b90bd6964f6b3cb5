#include "hardware/record_store.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hardware/atomic_file.h"
#include "hardware/record_store_rows.h"
#include "hardware/record_store_schema.h"
#include "hardware/record_transfer.h"
#include "hardware/recording.h"
#include "hlo/module.h"
#include "soci/soci.h"
#include "soci/sqlite3/soci-sqlite3.h"

namespace autotune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RecordStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(::testing::TempDir(), "/record_store_",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name(), "_",
                           getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path() const { return absl::StrCat(folder_, "/a store.db"); }
  std::string Url() const { return absl::StrCat("sqlite:", Path()); }

  std::unique_ptr<RecordStore> Open(const RecordStoreOptions& options = {}) const {
    absl::StatusOr<std::unique_ptr<RecordStore>> store = RecordStore::Open(Url(), options);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }

  std::string folder_;
};

MeasurementContext Context() {
  return {"tpu-v3", "replay", "libtpu 0.0.52", "--flag", TimeSource::kHardware};
}

RunRecord NewRun(const std::string& id) {
  return {.id = id, .program = "p.hlo", .options_json = "{}", .seed = 7, .started_unix_micros = 10};
}

CandidateRecord Candidate(const std::string& run, int64_t sequence, Config config,
                          std::vector<double> seconds) {
  CandidateRecord record;
  record.run_id = run;
  record.sequence = sequence;
  record.kernel_fingerprint = 0xfedcba9876543210u;
  record.kernel_name = "fusion.191";
  record.context = Context();
  record.config = std::move(config);
  record.fate = Fate::kMeasured;
  record.measurement = Measurement::FromSamples(std::move(seconds), TimeSource::kHardware);
  record.unix_micros = 1000 + sequence;
  return record;
}

Config Tile(int64_t bound) { return Config(TileBounds{.output = {bound, 2}}); }

void ExpectEqual(const CandidateRecord& a, const CandidateRecord& b) {
  EXPECT_EQ(a.run_id, b.run_id);
  EXPECT_EQ(a.sequence, b.sequence);
  EXPECT_EQ(a.kernel_fingerprint, b.kernel_fingerprint);
  EXPECT_EQ(a.kernel_name, b.kernel_name);
  EXPECT_EQ(a.context, b.context);
  EXPECT_EQ(a.config, b.config);
  if (a.config.tile() != nullptr) {
    EXPECT_EQ(a.config.tile()->input, b.config.tile()->input);
    EXPECT_EQ(a.config.tile()->iteration, b.config.tile()->iteration);
  }
  EXPECT_EQ(a.fate, b.fate);
  EXPECT_EQ(a.predictions, b.predictions);
  EXPECT_EQ(a.unix_micros, b.unix_micros);
  ASSERT_EQ(a.measurement.has_value(), b.measurement.has_value());
  if (!a.measurement.has_value()) return;
  ASSERT_EQ(a.measurement->ok(), b.measurement->ok());
  EXPECT_EQ(a.measurement->compile_seconds, b.measurement->compile_seconds);
  EXPECT_EQ(a.measurement->compiler_estimate_seconds, b.measurement->compiler_estimate_seconds);
  if (a.measurement->ok()) {
    EXPECT_EQ(a.measurement->samples(), b.measurement->samples());
    EXPECT_EQ(a.measurement->source(), b.measurement->source());
  } else {
    EXPECT_EQ(a.measurement->failure().kind, b.measurement->failure().kind);
    EXPECT_EQ(a.measurement->failure().message, b.measurement->failure().message);
  }
}

TEST_F(RecordStoreTest, EveryFieldComesBack) {
  std::vector<CandidateRecord> records;
  records.push_back(Candidate(
      "r", 0,
      Config(TileBounds{.kernel = {3, 1}, .output = {12, 4}, .input = {5}, .iteration = {6, 7}}),
      {1.0 / 3, 2e-9, 4}));
  records[0].predictions = {{"analytical", -11.25, 0},
                            {"a 'quoted' name", std::numeric_limits<double>::infinity(), 99}};
  records[0].measurement->compile_seconds = 0.1;
  records[0].measurement->compiler_estimate_seconds = 1e-7;
  records.push_back(Candidate("r", 1, Config(FusionDecision{{3, 17}}), {1}));
  records[1].measurement =
      Measurement::FromFailure(FailureKind::kTimeout, "after 3 s; it's \"slow\"\n");
  records.push_back(Candidate("r", 2, Config(LayoutConfig{{{{1, 0}, {}}}}), {1}));
  records[2].fate = Fate::kProposed;
  records[2].measurement = std::nullopt;
  records.push_back(Candidate("r", 3, Config(OpaqueConfig{5}), {2}));
  records[3].fate = Fate::kReused;
  records[3].context.source = TimeSource::kEstimate;
  records[3].measurement = Measurement::FromSamples({2}, TimeSource::kEstimate);
  {
    const auto store = Open();
    ASSERT_TRUE(store->BeginRun(NewRun("r")).ok());
    ASSERT_TRUE(store->Append(records).ok());
  }
  const auto store = Open();
  const auto back = store->RunCandidates("r");
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_EQ(back->size(), records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    SCOPED_TRACE(i);
    ExpectEqual((*back)[i], records[i]);
  }
  const auto damaged = store->Verify();
  ASSERT_TRUE(damaged.ok()) << damaged.status();
  EXPECT_THAT(*damaged, IsEmpty());
}

TEST_F(RecordStoreTest, RunsBeginAndFinish) {
  const auto store = Open();
  RunRecord later = NewRun("b");
  later.started_unix_micros = 20;
  later.seed = std::numeric_limits<uint64_t>::max();
  ASSERT_TRUE(store->BeginRun(later).ok());
  ASSERT_TRUE(store->BeginRun(NewRun("c")).ok());
  EXPECT_EQ(store->BeginRun(NewRun("c")).code(), absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(store->FinishRun("c", 99, "done").ok());
  EXPECT_EQ(store->FinishRun("x", 99, "done").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store->GetRun("x").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store->GetRun("c")->finished_unix_micros, 99);
  EXPECT_EQ(store->GetRun("c")->outcome, "done");
  const auto runs = store->ListRuns();
  ASSERT_TRUE(runs.ok()) << runs.status();
  ASSERT_EQ(runs->size(), 2u);
  EXPECT_EQ((*runs)[0].id, "c");
  EXPECT_EQ((*runs)[1].id, "b");
  EXPECT_EQ((*runs)[1].seed, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ((*runs)[1].finished_unix_micros, std::nullopt);
}

TEST_F(RecordStoreTest, AppendingAgainChangesNothing) {
  const auto store = Open();
  ASSERT_TRUE(store->BeginRun(NewRun("r")).ok());
  const std::vector<CandidateRecord> records = {Candidate("r", 0, Tile(1), {1}),
                                                Candidate("r", 1, Tile(2), {2})};
  ASSERT_TRUE(store->Append(records).ok());
  ASSERT_TRUE(store->Append(records).ok());
  EXPECT_EQ(store->Totals()->candidates, 2);
  EXPECT_EQ(store->Totals()->measured, 2);
  EXPECT_EQ(store->Totals()->runs, 1);
}

// Two results under one name are a mistake that must show, not one that the first hides.
TEST_F(RecordStoreTest, AnotherResultUnderTheSameNameIsRefused) {
  const auto store = Open();
  ASSERT_TRUE(store->BeginRun(NewRun("r")).ok());
  ASSERT_TRUE(store->Append({Candidate("r", 3, Tile(1), {1})}).ok());
  const absl::Status status =
      store->Append({Candidate("r", 4, Tile(2), {2}), Candidate("r", 3, Tile(1), {1.5})});
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("candidate 3 of run r"));
  EXPECT_EQ(store->Totals()->candidates, 1) << "nothing of the batch is stored";
}

TEST_F(RecordStoreTest, PruneTakesRunsOrWhatTheyOnlyProposed) {
  const auto store = Open();
  for (const char* run : {"a", "b"}) {
    ASSERT_TRUE(store->BeginRun(NewRun(run)).ok());
    CandidateRecord proposed = Candidate(run, 1, Tile(2), {1});
    proposed.fate = Fate::kProposed;
    proposed.measurement = std::nullopt;
    ASSERT_TRUE(store->Append({Candidate(run, 0, Tile(1), {1}), proposed}, "state").ok());
  }
  EXPECT_EQ(store->Prune({.runs = {"a", "x"}}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store->Prune({.runs = {"a"}, .dry_run = true})->candidates, 2);
  EXPECT_EQ(store->Totals()->candidates, 4);
  EXPECT_EQ(store->Prune({.runs = {"a", "b"}, .proposed_only = true})->candidates, 2);
  EXPECT_EQ(store->Totals()->runs, 2);
  const auto counts = store->Prune({.runs = {"a"}});
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->runs, 1);
  EXPECT_EQ(counts->candidates, 1);
  EXPECT_EQ(store->GetRun("a").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store->LoadCheckpoint("a").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store->RunCandidates("b")->size(), 1u);
  EXPECT_EQ(store->Lookup(0xfedcba9876543210u, Context(), VersionMatch::kStrict)->size(), 1u);
  EXPECT_THAT(*store->Verify(), IsEmpty());
}

TEST_F(RecordStoreTest, ABatchIsStoredWholeOrNotAtAll) {
  const auto store = Open();
  ASSERT_TRUE(store->BeginRun(NewRun("r")).ok());
  const std::vector<CandidateRecord> records = {Candidate("r", 0, Tile(1), {1}),
                                                Candidate("unknown", 1, Tile(2), {2})};
  EXPECT_EQ(store->Append(records).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store->Totals()->candidates, 0);
}

TEST_F(RecordStoreTest, CheckpointsAreReplacedTogetherWithRecords) {
  const auto store = Open();
  ASSERT_TRUE(store->BeginRun(NewRun("r")).ok());
  EXPECT_EQ(store->LoadCheckpoint("r").status().code(), absl::StatusCode::kNotFound);
  const std::string first("\0any\xff bytes'", 12);
  ASSERT_TRUE(store->Append({Candidate("r", 0, Tile(1), {1})}, first).ok());
  EXPECT_EQ(*store->LoadCheckpoint("r"), first);
  ASSERT_TRUE(store->Append({Candidate("r", 1, Tile(1), {1})}, "second").ok());
  EXPECT_EQ(*store->LoadCheckpoint("r"), "second");
  EXPECT_FALSE(store->Append({Candidate("x", 1, Tile(1), {1})}, "third").ok());
  EXPECT_EQ(*store->LoadCheckpoint("r"), "second");
}

TEST_F(RecordStoreTest, LookupJoinsRunsAndTellsStrictFromLoose) {
  const auto store = Open();
  ASSERT_TRUE(store->BeginRun(NewRun("a")).ok());
  ASSERT_TRUE(store->BeginRun(NewRun("b")).ok());
  std::vector<CandidateRecord> records = {
      Candidate("a", 0, Tile(2), {2e-6}), Candidate("a", 1, Tile(1), {1e-6}),
      Candidate("a", 2, Tile(3), {9}),    Candidate("a", 3, Tile(4), {9}),
      Candidate("a", 4, Tile(5), {9}),    Candidate("a", 5, Tile(6), {6e-6}),
  };
  records[2].measurement = Measurement::FromFailure(FailureKind::kCrash, "SIGILL");
  records[3].measurement = Measurement::FromFailure(FailureKind::kConfigNotRecorded, "");
  records[4].fate = Fate::kReused;
  records[5].context.versions = "libtpu 0.0.60";
  ASSERT_TRUE(store->Append(records).ok());
  CandidateRecord again = Candidate("b", 0, Tile(2), {4e-6, 3e-6});
  again.unix_micros = 1;
  CandidateRecord estimate = Candidate("b", 1, Tile(7), {7});
  estimate.context.source = TimeSource::kEstimate;
  estimate.measurement = Measurement::FromSamples({7}, TimeSource::kEstimate);
  CandidateRecord other_kernel = Candidate("b", 2, Tile(8), {8});
  other_kernel.kernel_fingerprint = 1;
  CandidateRecord other_device = Candidate("b", 3, Tile(9), {9});
  other_device.context.device = "tpu-v4";
  ASSERT_TRUE(store->Append({again, estimate, other_kernel, other_device}).ok());

  const auto strict =
      store->Lookup(records[0].kernel_fingerprint, Context(), VersionMatch::kStrict);
  ASSERT_TRUE(strict.ok()) << strict.status();
  ASSERT_EQ(strict->size(), 3u);
  EXPECT_EQ((*strict)[0].config, Tile(2));
  EXPECT_THAT((*strict)[0].measurement.samples(), ElementsAre(4e-6, 3e-6, 2e-6))
      << "the record of run b has the earlier time";
  EXPECT_EQ((*strict)[1].config, Tile(1));
  EXPECT_EQ((*strict)[2].config, Tile(3));
  EXPECT_EQ((*strict)[2].measurement.failure().kind, FailureKind::kCrash);

  const auto loose = store->Lookup(records[0].kernel_fingerprint, Context(), VersionMatch::kLoose);
  ASSERT_TRUE(loose.ok());
  ASSERT_EQ(loose->size(), 4u);
  EXPECT_EQ((*loose)[3].config, Tile(6));
  EXPECT_THAT(*store->Lookup(77, Context(), VersionMatch::kLoose), IsEmpty());
}

TEST_F(RecordStoreTest, KernelsAreSelfContained) {
  const absl::StatusOr<Recording> recording =
      Recording::Load(absl::StrCat(AUTOTUNE_SOURCE_DIR, "/examples/alexnet/tpu_v3.pb"));
  ASSERT_TRUE(recording.ok());
  std::vector<Kernel> kernels;
  for (const RecordedKernel& kernel : recording->kernels()) kernels.push_back(kernel.kernel());
  const auto store = Open();
  ASSERT_TRUE(store->PutKernels(kernels).ok());
  ASSERT_TRUE(store->PutKernels(kernels).ok());
  EXPECT_EQ(store->Totals()->kernels, 10);
  for (const Kernel& kernel : kernels) {
    const absl::StatusOr<Kernel> back = store->GetKernel(kernel.fingerprint);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->fingerprint, kernel.fingerprint);
    EXPECT_EQ(back->name, kernel.name);
    EXPECT_EQ(back->kind, kernel.kind);
    EXPECT_EQ(back->compiler_choice.has_value(), kernel.compiler_choice.has_value());
  }
  EXPECT_EQ(store->GetKernel(5).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(*store->Verify(), IsEmpty());
}

TEST_F(RecordStoreTest, VerifyNamesDamagedRecords) {
  {
    const auto store = Open();
    ASSERT_TRUE(store->BeginRun(NewRun("r")).ok());
    std::vector<CandidateRecord> records;
    for (int i = 0; i < 10; ++i) records.push_back(Candidate("r", i, Tile(i + 1), {1e-6}));
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
TEST_F(RecordStoreTest, ChangedRowsAreNotRead) {
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
      ASSERT_TRUE(store->Append({Candidate("r", 0, Tile(1), {1e-6})}).ok());
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

TEST_F(RecordStoreTest, VerifyNamesWhatLostItsRunOrIsAnotherKernel) {
  const absl::StatusOr<Recording> recording =
      Recording::Load(AUTOTUNE_SOURCE_DIR "/examples/alexnet/tpu_v3.pb");
  ASSERT_TRUE(recording.ok()) << recording.status();
  const Kernel& kernel = recording->kernels()[0].kernel();
  {
    const auto store = Open();
    ASSERT_TRUE(store->BeginRun(NewRun("r")).ok());
    ASSERT_TRUE(store->PutKernels({kernel}).ok());
    ASSERT_TRUE(store->Append({Candidate("r", 0, Tile(1), {1e-6})}).ok());
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

// A value that no measurement can have is damage, wherever it stands.
TEST_F(RecordStoreTest, ImpossibleNumbersNameTheirRecord) {
  {
    const auto store = Open();
    ASSERT_TRUE(store->BeginRun(NewRun("r")).ok());
    ASSERT_TRUE(store->Append({Candidate("r", 0, Tile(1), {1e-6})}).ok());
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

// A store file of each schema before: the same records, and every one of them well.
class SchemaMigrationTest : public RecordStoreTest, public ::testing::WithParamInterface<int> {};

TEST_P(SchemaMigrationTest, AnOlderStoreIsMigrated) {
  const std::string data =
      absl::StrCat(AUTOTUNE_SOURCE_DIR, "/tests/hardware/data/store_schema_", GetParam());
  std::filesystem::copy_file(data + ".db", Path());
  const auto store = Open();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(*ExportJsonLines(*store), *ReadWholeFile(data + ".jsonl"));
  EXPECT_THAT(*store->Verify(), IsEmpty());
  // And it takes what only the new schema holds.
  ASSERT_TRUE(store->BeginRun(NewRun("r")).ok());
  CandidateRecord record = Candidate("r", 0, Tile(1), {1e-6});
  record.is_default = true;
  record.measurement->method = "device loop";
  ASSERT_TRUE(store->Append({record}).ok());
  EXPECT_TRUE(store->RunCandidates("r")->at(0).is_default);
  EXPECT_EQ(store->RunCandidates("r")->at(0).measurement->method, "device loop");
  EXPECT_THAT(*store->Verify(), IsEmpty());
}

// Every schema before this one has a file.
INSTANTIATE_TEST_SUITE_P(Schemas, SchemaMigrationTest, ::testing::Range(1, kStoreSchemaVersion));

TEST_F(RecordStoreTest, ErrorsSpeakOfTheDatabaseNotOfTheLibraryBetween) {
  Open();
  soci::session(soci::sqlite3, absl::StrCat("dbname=\"", Path(), "\"")) << "DROP TABLE runs";
  const absl::Status status = Open()->ListRuns().status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("no such table: runs"));
  for (const char* word : {"soci", "sqlite3_", "::", "SELECT", "\n"}) {
    EXPECT_EQ(std::string(status.message()).find(word), std::string::npos) << status;
  }
}

TEST_F(RecordStoreTest, ADamagedOrForeignFileIsNamed) {
  std::ofstream(Path()) << std::string(5000, 'x');
  const auto garbage = RecordStore::Open(Url());
  EXPECT_EQ(garbage.status().code(), absl::StatusCode::kDataLoss) << garbage.status();
  EXPECT_THAT(std::string(garbage.status().message()), HasSubstr(Path()));
}

TEST_F(RecordStoreTest, ANewerSchemaIsRefusedByName) {
  Open();
  {
    soci::session sql(soci::sqlite3, absl::StrCat("dbname=\"", Path(), "\""));
    sql << "UPDATE schema_info SET version = 999";
  }
  const auto newer = RecordStore::Open(Url());
  EXPECT_EQ(newer.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(newer.status().message()), HasSubstr("schema version 999"));
}

TEST_F(RecordStoreTest, ASchemaVersionOfNoReleaseIsDamage) {
  for (const char* statement : {"UPDATE schema_info SET version = -5",
                                "UPDATE schema_info SET version = 0", "DELETE FROM schema_info"}) {
    std::filesystem::remove(Path());
    Open();
    soci::session(soci::sqlite3, absl::StrCat("dbname=\"", Path(), "\"")) << statement;
    EXPECT_EQ(RecordStore::Open(Url()).status().code(), absl::StatusCode::kDataLoss) << statement;
  }
}

// What may only be read can be read; who runs the tests as root may write everything.
TEST_F(RecordStoreTest, AStoreThatMayNotBeWrittenIsRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everything";
  {
    const auto store = Open();
    ASSERT_TRUE(store->BeginRun(NewRun("r")).ok());
    ASSERT_TRUE(store->Append({Candidate("r", 0, Tile(1), {1e-6})}).ok());
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

TEST_F(RecordStoreTest, UrlsAreChecked) {
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

TEST_F(RecordStoreTest, ALockedDatabaseIsUnavailable) {
  const auto store = Open({.busy_timeout_ms = 50});
  ASSERT_TRUE(store->BeginRun(NewRun("r")).ok());
  soci::session other(soci::sqlite3, absl::StrCat("dbname=\"", Path(), "\""));
  other << "BEGIN IMMEDIATE";
  const absl::Status status = store->Append({Candidate("r", 0, Tile(1), {1})});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("locked"));
  other << "ROLLBACK";
  EXPECT_EQ(store->Totals()->candidates, 0);
  EXPECT_TRUE(store->Append({Candidate("r", 0, Tile(1), {1})}).ok()) << "and usable afterwards";
}

// Files that may not grow stand in for a full disk.
TEST_F(RecordStoreTest, AFullDiskLosesNothingThatWasAcknowledged) {
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
        batch.push_back(Candidate("r", acknowledged + i, Tile(i + 1), {1e-6}));
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
  EXPECT_TRUE(store->Append({Candidate("r", 1'000'000, Tile(1), {1})}).ok());
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
               ->Append({Candidate(run, sequence, Tile(sequence + 1), {1e-6}),
                         Candidate(run, sequence + 1, Tile(sequence + 2), {1e-6})},
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

TEST_F(RecordStoreTest, KillLosesNothingThatWasAcknowledged) {
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

TEST_F(RecordStoreTest, ManyProcessesWriteAtOnce) {
  constexpr int kWriters = 4;
  constexpr int kBatches = 10;
  constexpr int kBatch = 50;
  std::vector<pid_t> children;
  for (int writer = 0; writer < kWriters; ++writer) {
    const pid_t child = fork();
    if (child == 0) {
      auto store = RecordStore::Open(Url());  // all of them also race to make the tables
      const std::string run = absl::StrCat("writer ", writer);
      if (!store.ok() || !(*store)->BeginRun(NewRun(run)).ok()) _exit(1);
      for (int64_t batch = 0; batch < kBatches; ++batch) {
        std::vector<CandidateRecord> records;
        for (int64_t i = 0; i < kBatch; ++i) {
          records.push_back(Candidate(run, batch * kBatch + i, Tile(i + 1), {1e-6}));
        }
        if (!(*store)->Append(records).ok()) _exit(2);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int exit_status = -1;
    waitpid(child, &exit_status, 0);
    EXPECT_EQ(exit_status, 0);
  }
  const auto store = Open();
  EXPECT_EQ(store->Totals()->candidates, kWriters * kBatches * kBatch);
  EXPECT_THAT(*store->Verify(), IsEmpty());
}

TEST_F(RecordStoreTest, ThreadsShareOneStore) {
  const auto store = Open();
  ASSERT_TRUE(store->BeginRun(NewRun("r")).ok());
  std::vector<std::thread> threads;
  for (int64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&store, thread] {
      for (int64_t i = 0; i < 20; ++i) {
        EXPECT_TRUE(store->Append({Candidate("r", thread * 100 + i, Tile(i + 1), {1})}).ok());
        EXPECT_TRUE(store->Lookup(0xfedcba9876543210u, Context(), VersionMatch::kStrict).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store->Totals()->candidates, 80);
}

TEST(StoreText, IsValidUtf8WithoutNul) {
  EXPECT_EQ(CleanText("plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(CleanText(absl::string_view("a\0b", 3)), "a?b");
  EXPECT_EQ(CleanText("\xff\xc3"), "??");
  EXPECT_EQ(CleanText("\xed\xa0\x80"), "???") << "a surrogate";
  EXPECT_EQ(CleanText("\xc0\xaf"), "??") << "overlong";
}

TEST(RunId, IsUniqueAndSortsByTime) {
  std::set<std::string> ids;
  for (int i = 0; i < 100; ++i) ids.insert(NewRunId());
  EXPECT_EQ(ids.size(), 100u);
  EXPECT_THAT(*ids.begin(), ::testing::MatchesRegex("[0-9]{8}-[0-9]{6}-[0-9a-f]{12}"));
}

}  // namespace
}  // namespace autotune
