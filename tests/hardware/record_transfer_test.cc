#include "hardware/record_transfer.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hardware/recording_forms.h"

namespace autotune {
namespace {

using ::testing::HasSubstr;

class RecordTransferTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(::testing::TempDir(), "/record_transfer_", getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    absl::StatusOr<Recording> loaded =
        Recording::Load(absl::StrCat(AUTOTUNE_SOURCE_DIR, "/examples/alexnet/tpu_v3.pb"));
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    recording_ = std::make_unique<Recording>(*std::move(loaded));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<RecordStore> Open(const std::string& name) const {
    auto store = RecordStore::Open(absl::StrCat("sqlite:", folder_, "/", name, ".db"));
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }

  std::string folder_;
  std::unique_ptr<Recording> recording_;
};

const MeasurementContext kContext = {"tpu-v3", "tpugraphs", "", "", TimeSource::kHardware};

TEST_F(RecordTransferTest, ARecordingGoesThroughTheStore) {
  const auto store = Open("a");
  const auto counts = ImportRecording(*store, *recording_, "import", 5);
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->kernels, 10);
  const auto again = ImportRecording(*store, *recording_, "import", 6);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->runs + again->kernels + again->candidates, 0);
  const absl::StatusOr<Recording> back = ExportRecording(*store, kContext);
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_EQ(back->kernels().size(), 10u);
  for (const RecordedKernel& kernel : recording_->kernels()) {
    const RecordedKernel* found = back->Find(kernel.kernel().fingerprint);
    ASSERT_NE(found, nullptr) << kernel.kernel().name;
    ASSERT_EQ(found->configs().size(), kernel.configs().size());
    for (size_t i = 0; i < kernel.configs().size(); ++i) {
      EXPECT_EQ(found->configs()[i].config, kernel.configs()[i].config);
      EXPECT_EQ(found->configs()[i].seconds, kernel.configs()[i].seconds);
    }
  }
  MeasurementContext elsewhere = kContext;
  elsewhere.device = "tpu-v4";
  EXPECT_TRUE(ExportRecording(*store, elsewhere)->kernels().empty());
}

TEST_F(RecordTransferTest, JsonLinesGiveTheSameBack) {
  const auto store = Open("a");
  ASSERT_TRUE(ImportRecording(*store, *recording_, "import", 5).ok());
  CandidateRecord proposed;
  proposed.run_id = "import";
  proposed.sequence = 10'000;
  proposed.context = kContext;
  proposed.config = Config(TileBounds{.output = {3}, .input = {4}, .iteration = {5}});
  proposed.predictions = {{"analytical", 1.0 / 3, 7}};
  ASSERT_TRUE(store->Append({proposed}).ok());
  const absl::StatusOr<std::string> lines = ExportJsonLines(*store);
  ASSERT_TRUE(lines.ok()) << lines.status();

  const auto copy = Open("b");
  const auto counts = ImportJsonLines(*copy, *lines, "x.jsonl");
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->runs, 1);
  EXPECT_EQ(counts->kernels, 10);
  EXPECT_TRUE(*ExportJsonLines(*copy) == *lines);
  const auto again = ImportJsonLines(*copy, *lines, "x.jsonl");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->runs + again->kernels + again->candidates, 0) << "nothing was new";
  EXPECT_TRUE(*ExportJsonLines(*copy) == *lines) << "importing twice changes nothing";
  EXPECT_THAT(*copy->Verify(), ::testing::IsEmpty());
}

// Through the store and TpuGraphs' own form: the file that comes out holds what went in, the opaque
// runs at their positions, and it gives the same records when it is imported again.
TEST_F(RecordTransferTest, TuningDataGivesTheSameBack) {
  const auto store = Open("a");
  ASSERT_TRUE(ImportRecording(*store, *recording_, "import", 5).ok());
  const absl::StatusOr<Recording> exported = ExportRecording(*store, kContext);
  ASSERT_TRUE(exported.ok()) << exported.status();
  const absl::StatusOr<std::string> bytes = WriteTuningData(*exported);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const absl::StatusOr<Recording> back = Recording::Parse(*bytes, "x.pb");
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_EQ(back->kernels().size(), recording_->kernels().size());
  int64_t defaults = 0;
  for (size_t k = 0; k < back->kernels().size(); ++k) {
    const auto& before = recording_->kernels()[k].configs();
    const auto& after = back->kernels()[k].configs();
    EXPECT_EQ(back->kernels()[k].kernel().fingerprint,
              recording_->kernels()[k].kernel().fingerprint);
    ASSERT_EQ(after.size(), before.size());
    for (size_t i = 0; i < after.size(); ++i) {
      EXPECT_EQ(after[i].config, before[i].config);
      EXPECT_EQ(after[i].seconds, before[i].seconds);
      EXPECT_EQ(after[i].failures.size(), before[i].failures.size());
      EXPECT_EQ(after[i].is_default, before[i].is_default);
      defaults += after[i].is_default ? 1 : 0;
    }
  }
  EXPECT_GT(defaults, 0);
  const auto copy = Open("b");
  ASSERT_TRUE(ImportRecording(*copy, *back, "import", 5).ok());
  EXPECT_EQ(*ExportJsonLines(*copy), *ExportJsonLines(*store));
}

TEST_F(RecordTransferTest, TuningDataRefusesWhatItCannotHold) {
  Recording estimates({"tpu-v3", "aot", "", TimeSource::kEstimate});
  EXPECT_THAT(std::string(WriteTuningData(estimates).status().message()), HasSubstr("estimates"));
  Recording tiny({"tpu-v3", "pjrt", "", TimeSource::kHardware});
  tiny.FindOrAdd(recording_->kernels()[0].kernel())
      .Add({.config = Config(TileBounds{.output = {1}}), .seconds = {1e-10}});
  EXPECT_THAT(std::string(WriteTuningData(tiny).status().message()), HasSubstr("rounds to 0 ns"));
}

TEST_F(RecordTransferTest, MergingAddsWhatIsNewAndNamesWhatDiffers) {
  const auto a = Open("a");
  const auto b = Open("b");
  CandidateRecord record;
  record.run_id = "r";
  record.context = kContext;
  record.fate = Fate::kMeasured;
  record.measurement = Measurement::FromSamples({1e-6}, TimeSource::kHardware);
  for (RecordStore* store : {a.get(), b.get()}) {
    ASSERT_TRUE(store->BeginRun({.id = "r", .started_unix_micros = 1}).ok());
    ASSERT_TRUE(store->Append({record}).ok());
  }
  ASSERT_TRUE(ImportRecording(*b, *recording_, "import", 5).ok());
  CandidateRecord more = record;
  more.sequence = 1;
  CandidateRecord differs = record;
  differs.sequence = 2;
  ASSERT_TRUE(a->Append({differs}).ok());
  differs.measurement = Measurement::FromSamples({2e-6}, TimeSource::kHardware);
  ASSERT_TRUE(b->Append({more, differs}).ok());
  ASSERT_TRUE(b->FinishRun("r", 9, "done").ok());

  const auto counts = MergeStore(*b, *a);
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->added.runs, 1);
  EXPECT_EQ(counts->added.kernels, 10);
  EXPECT_EQ(counts->added.candidates, b->Totals()->candidates - 2);
  EXPECT_THAT(counts->differing, ::testing::ElementsAre("candidate 2 of run r"));
  EXPECT_EQ(a->GetRun("r")->outcome, "done");
  EXPECT_EQ(a->RunCandidates("r")->at(2).measurement->samples()[0], 1e-6) << "the target's stays";
  const std::string once = *ExportJsonLines(*a);
  EXPECT_EQ(MergeStore(*b, *a)->added.candidates, 0);
  EXPECT_EQ(*ExportJsonLines(*a), once) << "merging twice changes nothing";
  EXPECT_THAT(*a->Verify(), ::testing::IsEmpty());
}

TEST_F(RecordTransferTest, BadLinesAreNamed) {
  const auto store = Open("a");
  const std::pair<const char*, const char*> cases[] = {
      {"{\"record\":\"store\",\"version\":1}\n{", "x.jsonl:2: no JSON"},
      {"[]", "x.jsonl:1: no object with a member \"record\""},
      {"{\"record\":\"cat\"}", "unknown record \"cat\""},
      {"{\"record\":\"store\",\"version\":2}", "version 1"},
      {"\n\n{\"record\":\"run\"}", "x.jsonl:3: member \"id\" is not a text"},
      {"{\"record\":\"candidate\"}", "member \"run\" is not a text"},
      {"{\"record\":\"kernel\",\"name\":\"k\",\"kernel\":\"AAAA\"}", "x.jsonl:1: kernel k"},
  };
  for (const auto& [text, message] : cases) {
    const auto counts = ImportJsonLines(*store, text, "x.jsonl");
    ASSERT_FALSE(counts.ok()) << text;
    EXPECT_EQ(counts.status().code(), absl::StatusCode::kInvalidArgument) << counts.status();
    EXPECT_THAT(std::string(counts.status().message()), HasSubstr(message));
  }
}

// An import that was killed after its run began used to count as done.
TEST_F(RecordTransferTest, AnInterruptedImportIsCompleted) {
  const auto whole = Open("whole");
  ASSERT_TRUE(ImportRecording(*whole, *recording_, "import", 5).ok());
  const auto store = Open("a");
  ASSERT_TRUE(store
                  ->BeginRun({.id = "import",
                              .program = "recording",
                              .options_json = "{}",
                              .started_unix_micros = 5,
                              .finished_unix_micros = 5,
                              .outcome = "done"})
                  .ok());
  const auto counts = ImportRecording(*store, *recording_, "import", 99);
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->runs, 0);
  EXPECT_EQ(counts->kernels, 10);
  EXPECT_EQ(counts->candidates, whole->Totals()->candidates);
  EXPECT_EQ(*ExportJsonLines(*store), *ExportJsonLines(*whole));
}

TEST_F(RecordTransferTest, ARunThatEndedSinceTheLastImportIsCompleted) {
  const auto source = Open("source");
  ASSERT_TRUE(source->BeginRun({.id = "r", .started_unix_micros = 1}).ok());
  const auto store = Open("a");
  ASSERT_TRUE(ImportJsonLines(*store, *ExportJsonLines(*source), "x.jsonl").ok());
  ASSERT_TRUE(source->FinishRun("r", 9, "done").ok());
  const std::string lines = *ExportJsonLines(*source);
  ASSERT_TRUE(ImportJsonLines(*store, lines, "x.jsonl").ok());
  EXPECT_EQ(*ExportJsonLines(*store), lines);
  EXPECT_THAT(*store->Verify(), ::testing::IsEmpty());
}

// What verify would name as damaged must not come in.
TEST_F(RecordTransferTest, ImpossibleRecordsAreRefused) {
  const std::string run =
      R"({"record":"run","id":"r","program":"p","options":"{}","seed":"0","started":1,"outcome":""})"
      "\n";
  const std::string start =
      R"({"record":"candidate","run":"r","kernel":"1","kernel_name":"k","device":"tpu-v3",)"
      R"("backend":"b","versions":"","flags":"","source":"hardware","config":{"opaque":1},)";
  const std::string measured = R"("sequence":0,"time":1,"fate":"measured",)";
  const std::pair<std::string, const char*> cases[] = {
      {R"("sequence":-1,"time":1,"fate":"proposed"})", "column sequence holds \"-1\""},
      {R"("sequence":9223372036854775808,"time":1,"fate":"proposed"})", "\"sequence\" is not"},
      {R"("sequence":0,"time":9223372036854775808,"fate":"proposed"})", "\"time\" is not"},
      {R"("sequence":0,"time":1,"fate":"measured"})", "holds no result"},
      {R"("sequence":0,"time":1,"fate":"proposed","measurement":{"seconds":[1]}})",
       "is before a result"},
      {R"("sequence":0,"time":1,"fate":"proposed",)"
       R"("predictions":[{"model":"m","score":"nan","rank":0}]})",
       "column predictions"},
      {measured + R"("measurement":{"seconds":[1e308]}})", "\"seconds\" is not"},
      {measured + R"("measurement":{"seconds":[1e-320]}})", "\"seconds\" is not"},
      {measured + R"("measurement":{"seconds":[1],"compile_seconds":1e300}})", "compile_seconds"},
  };
  for (const auto& [rest, message] : cases) {
    const auto store = Open("a");
    const auto counts = ImportJsonLines(*store, run + start + rest, "x.jsonl");
    EXPECT_EQ(counts.status().code(), absl::StatusCode::kInvalidArgument) << rest;
    EXPECT_THAT(std::string(counts.status().message()), HasSubstr("x.jsonl:2: "));
    EXPECT_THAT(std::string(counts.status().message()), HasSubstr(message));
    EXPECT_EQ(store->Totals()->candidates, 0);
  }
  EXPECT_THAT(
      std::string(ImportJsonLines(*Open("b"),
                                  start + measured + R"("measurement":{"seconds":[1]}})", "x.jsonl")
                      .status()
                      .message()),
      HasSubstr("run r, which is neither in the store nor before it"));
}

// A spreadsheet must not run what a program calls its kernels.
TEST_F(RecordTransferTest, CsvHoldsNoFormulas) {
  const auto store = Open("a");
  ASSERT_TRUE(store->BeginRun({.id = "r", .program = "@p", .outcome = "-1"}).ok());
  CandidateRecord record;
  record.run_id = "r";
  record.context = {"tpu-v3", "+b", "'v", "--flag", TimeSource::kHardware};
  record.kernel_name = "=cmd|' /C calc'!A0";
  ASSERT_TRUE(store->Append({record}).ok());
  const std::string csv = *ExportCsv(*store);
  EXPECT_THAT(csv, HasSubstr("r,0,'=cmd|' /C calc'!A0,"));
  EXPECT_THAT(csv, HasSubstr(",tpu-v3,'+b,''v,'--flag,hardware,"));
  EXPECT_THAT(csv, HasSubstr(",'@p,"));
  const auto copy = Open("b");
  ASSERT_TRUE(ImportCsv(*copy, absl::StrCat("\xEF\xBB\xBF", csv), "x.csv").ok());
  EXPECT_EQ(*ExportCsv(*copy), csv);
  EXPECT_EQ(copy->RunCandidates("r")->at(0).kernel_name, record.kernel_name);
  EXPECT_EQ(copy->RunCandidates("r")->at(0).context, record.context);
  EXPECT_EQ(copy->GetRun("r")->program, "@p");
}

TEST_F(RecordTransferTest, CsvHasALineForEveryCandidate) {
  const auto store = Open("a");
  ASSERT_TRUE(ImportRecording(*store, *recording_, "import", 5).ok());
  const absl::StatusOr<std::string> csv = ExportCsv(*store);
  ASSERT_TRUE(csv.ok());
  EXPECT_EQ(std::count(csv->begin(), csv->end(), '\n'), store->Totals()->candidates + 1);
  EXPECT_THAT(*csv, HasSubstr(",\"o=2,26,4,2\",measured,"));
}

// The features of bounds as TpuGraphs' pipeline computes them: six, their sum, their product.
void AppendBounds(const std::vector<float>& bounds, std::vector<float>* features) {
  float sum = 0, product = bounds.empty() ? 0 : 1;
  for (size_t i = 0; i < 6; ++i) features->push_back(i < bounds.size() ? bounds[i] : 0);
  for (const float bound : bounds) {
    sum += bound;
    product *= bound;
  }
  features->push_back(sum);
  features->push_back(product);
}

std::vector<NamedNpyArray> TileFile(const std::vector<int64_t>& runtimes) {
  std::vector<float> features;
  AppendBounds({3, 1, 24, 3}, &features);
  AppendBounds({12, 4}, &features);
  AppendBounds({5}, &features);
  AppendBounds({}, &features);
  AppendBounds({2, 1}, &features);
  AppendBounds({}, &features);
  for (int i = 0; i < 3; ++i) AppendBounds({}, &features);  // says nothing
  AppendBounds({1, 1, 1, 1, 1, 1, 7}, &features);           // does not say all
  for (int i = 0; i < 2; ++i) AppendBounds({2}, &features);
  return {{"node_feat", NpyArray::OfFloats({1, 140}, std::vector<float>(140, 1.5f))},
          {"node_opcode", NpyArray::OfInt32({1}, {63})},
          {"edge_index", NpyArray::OfInt32({0, 2}, {})},
          {"config_feat", NpyArray::OfFloats({4, 24}, features)},
          {"config_runtime", NpyArray::OfInt64({4}, runtimes)},
          {"config_runtime_normalizers", NpyArray::OfInt64({4}, {2000, 2000, 2000, 2000})}};
}

absl::StatusOr<ImportCounts> ImportTiles(RecordStore& store,
                                         const std::vector<NamedNpyArray>& arrays) {
  const auto npz = NpzReader::FromBytes(*SerializeNpz(arrays), "k.npz");
  EXPECT_TRUE(npz.ok()) << npz.status();
  EXPECT_TRUE(IsTpuGraphsTileFile(**npz));
  return ImportTpuGraphsTiles(store, **npz, "k.npz", "k", "import", 5);
}

TEST_F(RecordTransferTest, TpuGraphsTilesBecomeRecords) {
  const auto store = Open("a");
  const auto counts = ImportTiles(*store, TileFile({1500, 2000, 2000, 3000}));
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->runs, 1);
  EXPECT_EQ(counts->candidates, 4);
  const auto records = store->RunCandidates("import");
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_EQ((*records)[0].config.Key(), "k=3,1,24,3;o=12,4");
  EXPECT_EQ((*records)[0].config.tile()->input, WindowBounds({5}));
  EXPECT_EQ((*records)[1].config.Key(), "o=2,1");
  EXPECT_EQ((*records)[2].config, Config(OpaqueConfig{2}));
  EXPECT_EQ((*records)[3].config, Config(OpaqueConfig{3}));
  EXPECT_DOUBLE_EQ((*records)[0].measurement->MedianSeconds(), 1.5e-6) << "nanoseconds";
  EXPECT_EQ((*records)[0].context, kContext);
  EXPECT_TRUE((*records)[1].is_default);
  EXPECT_FALSE((*records)[2].is_default) << "there is one default";
  const auto again = ImportTiles(*store, TileFile({1500, 2000, 2000, 3000}));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->runs + again->candidates, 0);
  EXPECT_TRUE(store->Verify()->empty());
  const auto copy = Open("b");
  ASSERT_TRUE(ImportJsonLines(*copy, *ExportJsonLines(*store), "x").ok());
  EXPECT_EQ(*ExportJsonLines(*copy), *ExportJsonLines(*store));
}

TEST_F(RecordTransferTest, TpuGraphsTilesThatAreDamagedAreNamed) {
  const auto store = Open("a");
  const auto expect = [&](const std::vector<NamedNpyArray>& arrays, const std::string& words) {
    const absl::Status status = ImportTiles(*store, arrays).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << words;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  };
  expect(TileFile({1500, 0, 2000, 3000}), "k.npz: config_runtime holds 0 ns at 1");
  std::vector<NamedNpyArray> arrays = TileFile({1, 1, 1, 1});
  arrays[3].array.shape = {3, 32};
  expect(arrays, "config_feat must be 4 x 24");
  arrays = TileFile({1, 1, 1, 1});
  arrays[5].array = NpyArray::OfInt64({1}, {1});
  expect(arrays, "config_runtime_normalizers must be as long");
  EXPECT_EQ(store->Totals()->runs, 0);
}

}  // namespace
}  // namespace autotune
