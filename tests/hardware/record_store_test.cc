#include "hardware/record_store.h"

#include <filesystem>
#include <limits>
#include <memory>
#include <set>
#include <string>
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
#include "tests/hardware/record_store_fixture.h"

namespace autotune {
namespace {

using record_store_testing::Context;
using record_store_testing::NewRun;
using record_store_testing::StoredCandidate;
using record_store_testing::Tile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RecordStoreTest : public record_store_testing::StoreFixture {};

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
  records.push_back(StoredCandidate(
      "r", 0,
      Config(TileBounds{.kernel = {3, 1}, .output = {12, 4}, .input = {5}, .iteration = {6, 7}}),
      {1.0 / 3, 2e-9, 4}));
  records[0].predictions = {{"analytical", -11.25, 0},
                            {"a 'quoted' name", std::numeric_limits<double>::infinity(), 99}};
  records[0].measurement->compile_seconds = 0.1;
  records[0].measurement->compiler_estimate_seconds = 1e-7;
  records.push_back(StoredCandidate("r", 1, Config(FusionDecision{{3, 17}}), {1}));
  records[1].measurement =
      Measurement::FromFailure(FailureKind::kTimeout, "after 3 s; it's \"slow\"\n");
  records.push_back(StoredCandidate("r", 2, Config(LayoutConfig{{{{1, 0}, {}}}}), {1}));
  records[2].fate = Fate::kProposed;
  records[2].measurement = std::nullopt;
  records.push_back(StoredCandidate("r", 3, Config(OpaqueConfig{5}), {2}));
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
  const std::vector<CandidateRecord> records = {StoredCandidate("r", 0, Tile(1), {1}),
                                                StoredCandidate("r", 1, Tile(2), {2})};
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
  ASSERT_TRUE(store->Append({StoredCandidate("r", 3, Tile(1), {1})}).ok());
  const absl::Status status = store->Append(
      {StoredCandidate("r", 4, Tile(2), {2}), StoredCandidate("r", 3, Tile(1), {1.5})});
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("candidate 3 of run r"));
  EXPECT_EQ(store->Totals()->candidates, 1) << "nothing of the batch is stored";
}

TEST_F(RecordStoreTest, PruneTakesRunsOrWhatTheyOnlyProposed) {
  const auto store = Open();
  for (const char* run : {"a", "b"}) {
    ASSERT_TRUE(store->BeginRun(NewRun(run)).ok());
    CandidateRecord proposed = StoredCandidate(run, 1, Tile(2), {1});
    proposed.fate = Fate::kProposed;
    proposed.measurement = std::nullopt;
    ASSERT_TRUE(store->Append({StoredCandidate(run, 0, Tile(1), {1}), proposed}, "state").ok());
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
  const std::vector<CandidateRecord> records = {StoredCandidate("r", 0, Tile(1), {1}),
                                                StoredCandidate("unknown", 1, Tile(2), {2})};
  EXPECT_EQ(store->Append(records).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store->Totals()->candidates, 0);
}

TEST_F(RecordStoreTest, CheckpointsAreReplacedTogetherWithRecords) {
  const auto store = Open();
  ASSERT_TRUE(store->BeginRun(NewRun("r")).ok());
  EXPECT_EQ(store->LoadCheckpoint("r").status().code(), absl::StatusCode::kNotFound);
  const std::string first("\0any\xff bytes'", 12);
  ASSERT_TRUE(store->Append({StoredCandidate("r", 0, Tile(1), {1})}, first).ok());
  EXPECT_EQ(*store->LoadCheckpoint("r"), first);
  ASSERT_TRUE(store->Append({StoredCandidate("r", 1, Tile(1), {1})}, "second").ok());
  EXPECT_EQ(*store->LoadCheckpoint("r"), "second");
  EXPECT_FALSE(store->Append({StoredCandidate("x", 1, Tile(1), {1})}, "third").ok());
  EXPECT_EQ(*store->LoadCheckpoint("r"), "second");
}

TEST_F(RecordStoreTest, LookupJoinsRunsAndTellsStrictFromLoose) {
  const auto store = Open();
  ASSERT_TRUE(store->BeginRun(NewRun("a")).ok());
  ASSERT_TRUE(store->BeginRun(NewRun("b")).ok());
  std::vector<CandidateRecord> records = {
      StoredCandidate("a", 0, Tile(2), {2e-6}), StoredCandidate("a", 1, Tile(1), {1e-6}),
      StoredCandidate("a", 2, Tile(3), {9}),    StoredCandidate("a", 3, Tile(4), {9}),
      StoredCandidate("a", 4, Tile(5), {9}),    StoredCandidate("a", 5, Tile(6), {6e-6}),
  };
  records[2].measurement = Measurement::FromFailure(FailureKind::kCrash, "SIGILL");
  records[3].measurement = Measurement::FromFailure(FailureKind::kConfigNotRecorded, "");
  records[4].fate = Fate::kReused;
  records[5].context.versions = "libtpu 0.0.60";
  ASSERT_TRUE(store->Append(records).ok());
  CandidateRecord again = StoredCandidate("b", 0, Tile(2), {4e-6, 3e-6});
  again.unix_micros = 1;
  CandidateRecord estimate = StoredCandidate("b", 1, Tile(7), {7});
  estimate.context.source = TimeSource::kEstimate;
  estimate.measurement = Measurement::FromSamples({7}, TimeSource::kEstimate);
  CandidateRecord other_kernel = StoredCandidate("b", 2, Tile(8), {8});
  other_kernel.kernel_fingerprint = 1;
  CandidateRecord other_device = StoredCandidate("b", 3, Tile(9), {9});
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
  CandidateRecord record = StoredCandidate("r", 0, Tile(1), {1e-6});
  record.is_default = true;
  record.measurement->method = "device loop";
  ASSERT_TRUE(store->Append({record}).ok());
  EXPECT_TRUE(store->RunCandidates("r")->at(0).is_default);
  EXPECT_EQ(store->RunCandidates("r")->at(0).measurement->method, "device loop");
  EXPECT_THAT(*store->Verify(), IsEmpty());
}

// Every schema before this one has a file.
INSTANTIATE_TEST_SUITE_P(Schemas, SchemaMigrationTest, ::testing::Range(1, kStoreSchemaVersion));

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
