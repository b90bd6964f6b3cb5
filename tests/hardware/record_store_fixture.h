#ifndef AUTOTUNE_TESTS_HARDWARE_RECORD_STORE_FIXTURE_H_
#define AUTOTUNE_TESTS_HARDWARE_RECORD_STORE_FIXTURE_H_

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "hardware/record_store.h"

namespace autotune::record_store_testing {

// An SQLite store in a folder of the test's own.
class StoreFixture : public ::testing::Test {
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

inline MeasurementContext Context() {
  return {"tpu-v3", "replay", "libtpu 0.0.52", "--flag", TimeSource::kHardware};
}

inline RunRecord NewRun(const std::string& id) {
  return {.id = id, .program = "p.hlo", .options_json = "{}", .seed = 7, .started_unix_micros = 10};
}

inline CandidateRecord StoredCandidate(const std::string& run, int64_t sequence, Config config,
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

inline Config Tile(int64_t bound) { return Config(TileBounds{.output = {bound, 2}}); }

}  // namespace autotune::record_store_testing

#endif  // AUTOTUNE_TESTS_HARDWARE_RECORD_STORE_FIXTURE_H_
