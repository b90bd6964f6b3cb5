// The bars of the record store: throughput of many writers, and the time of a large look-up.

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hardware/record_store.h"
#include "tests/hardware/writer_processes.h"

namespace autotune {
namespace {

using Clock = std::chrono::steady_clock;

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string FreshStore(const std::string& name) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/", name, "_", getpid());
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

std::vector<CandidateRecord> Records(const std::string& run, int64_t first, int64_t count) {
  std::vector<CandidateRecord> records;
  for (int64_t i = first; i < first + count; ++i) {
    CandidateRecord record;
    record.run_id = run;
    record.sequence = i;
    record.kernel_fingerprint = 12345;
    record.kernel_name = "fusion.191";
    record.context = {"tpu-v3", "replay", "1", "", TimeSource::kHardware};
    record.config = Config(TileBounds{.kernel = {3, 1, 24, 3}, .output = {i / 100, i % 100, 4, 3}});
    record.fate = Fate::kMeasured;
    record.predictions = {{"analytical", -8.5 - static_cast<double>(i) / 7, i % 50}};
    record.measurement =
        Measurement::FromSamples({1e-6 * static_cast<double>(i + 1) / 3}, TimeSource::kHardware);
    record.unix_micros = i;
    records.push_back(std::move(record));
  }
  return records;
}

TEST(RecordStoreSoak, EightProcessesWriteTwentyThousandRecordsEach) {
  constexpr int kWriters = 8;
  constexpr int64_t kRecords = 20'000;
  constexpr int64_t kBatch = 100;  // a round of the tuner
  const std::string folder = FreshStore("store_writers");
  const std::string url = absl::StrCat("sqlite:", folder, "/s.db");
  const Clock::time_point start = Clock::now();
  WriteFromProcesses(kWriters, [&](int writer) {
    auto store = RecordStore::Open(url);
    const std::string run = absl::StrCat("writer ", writer);
    if (!store.ok() || !(*store)->BeginRun({.id = run}).ok()) return 1;
    for (int64_t first = 0; first < kRecords; first += kBatch) {
      if (!(*store)->Append(Records(run, first, kBatch)).ok()) return 2;
    }
    return 0;
  });
  const double rate = kWriters * kRecords / Since(start);
  RecordProperty("records_per_second", absl::StrCat(rate));
  std::printf("%.0f records/s\n", rate);
  EXPECT_GE(rate, 5000);
  auto store = RecordStore::Open(url);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ((*store)->Totals()->candidates, kWriters * kRecords);
  EXPECT_THAT(*(*store)->Verify(), ::testing::IsEmpty());
  std::filesystem::remove_all(folder);
}

TEST(RecordStoreSoak, LookUpOfAHundredThousandConfigurations) {
  const std::string folder = FreshStore("store_lookup");
  auto store = RecordStore::Open(absl::StrCat("sqlite:", folder, "/s.db"));
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->BeginRun({.id = "r"}).ok());
  for (int64_t first = 0; first < 100'000; first += 10'000) {
    ASSERT_TRUE((*store)->Append(Records("r", first, 10'000)).ok());
  }
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const Clock::time_point start = Clock::now();
    const auto results = (*store)->Lookup(
        12345, {"tpu-v3", "replay", "1", "", TimeSource::kHardware}, VersionMatch::kStrict);
    best = std::min(best, Since(start));
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_EQ(results->size(), 100'000u);
  }
  RecordProperty("milliseconds", absl::StrCat(best * 1e3));
  std::printf("%.0f ms\n", best * 1e3);
  EXPECT_LT(best, 0.2);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace autotune
