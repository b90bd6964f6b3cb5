// The bars of the fleet, on the cluster that tests/hardware/fleet_cluster.py starts: throughput,
// overhead, and workers that are killed. Skipped without one.

#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "hardware/fleet_backend.h"
#include "hardware/recording.h"

namespace autotune {
namespace {

using Clock = std::chrono::steady_clock;

class FleetCluster : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* address = std::getenv("AUTOTUNE_TEST_FLEET");
    if (address == nullptr) GTEST_SKIP() << "needs tests/hardware/fleet_cluster.py";
    recording_ = std::make_unique<Recording>(
        *Recording::Load(absl::StrCat(AUTOTUNE_SOURCE_DIR, "/examples/alexnet/tpu_v3.pb")));
    auto transport = ConnectRayCluster({.address = address,
                                        .token_path = std::getenv("AUTOTUNE_TEST_FLEET_TOKEN"),
                                        .resource = "autotune"});
    ASSERT_TRUE(transport.ok()) << transport.status();
    FleetOptions options;
    options.start_timeout = absl::Seconds(20);
    options.timeout = absl::Seconds(1);
    ASSERT_TRUE(absl::SimpleAtoi(std::getenv("AUTOTUNE_TEST_FLEET_WORKERS"), &options.workers));
    options.notify = [this](const std::string& message) {
      std::printf("%s\n", message.c_str());
      ++lost_;
    };
    auto fleet = FleetBackend::Create(*std::move(transport), options);
    ASSERT_TRUE(fleet.ok()) << fleet.status();
    fleet_ = *std::move(fleet);
  }

  std::vector<Candidate> Candidates(int64_t count) const {
    std::vector<Candidate> candidates;
    for (int64_t i = 1; i <= count; ++i) {
      candidates.push_back({&recording_->kernels()[static_cast<size_t>(i % 3)].kernel(),
                            Config(TileBounds{.output = {i, 2}})});
    }
    return candidates;
  }

  std::unique_ptr<Recording> recording_;
  std::unique_ptr<FleetBackend> fleet_;
  int lost_ = 0;
};

// Prints measurements per second; the script compares those of 1 and of 4 workers.
TEST_F(FleetCluster, Throughput) {
  ASSERT_TRUE(fleet_->Measure(Candidates(8)).ok()) << "all workers are up afterwards";
  std::this_thread::sleep_for(std::chrono::seconds(2));
  ASSERT_TRUE(fleet_->Measure(Candidates(16)).ok());
  const std::vector<Candidate> candidates = Candidates(120);
  const Clock::time_point start = Clock::now();
  const auto results = fleet_->Measure(candidates);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  ASSERT_TRUE(results.ok()) << results.status();
  std::printf("rate %.3f\n", static_cast<double>(candidates.size()) / seconds);
}

// A process of the fleet that measures; 0 if there is none.
int AnyWorkerProcess(int skip) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    int pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    std::string command;
    std::getline(file, command, '\0');
    if (command.find("/autotune-fleet-worker") == std::string::npos) continue;
    std::ifstream environment(entry.path() / "environ", std::ios::binary);
    std::stringstream variables;
    variables << environment.rdbuf();
    const char* config = std::getenv("AUTOTUNE_TEST_FLEET_CONFIG");
    if (variables.str().find(config) == std::string::npos) continue;  // of another fleet
    if (skip-- == 0) return pid;
  }
  return 0;
}

// Stopped, not dead: it answers nothing, and nobody says why.
TEST_F(FleetCluster, AWorkerThatHangsIsReplaced) {
  ASSERT_TRUE(fleet_->Measure(Candidates(8)).ok());
  const std::vector<Candidate> candidates = Candidates(120);
  std::thread stopper([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    const int pid = AnyWorkerProcess(0);
    EXPECT_GT(pid, 0);
    if (pid > 0) kill(pid, SIGSTOP);
  });
  std::vector<int> told(candidates.size());
  const auto results = fleet_->MeasureEach(
      candidates, [&](size_t position, const Measurement&) { ++told[position]; });
  stopper.join();
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_GE(lost_, 1);
  for (size_t i = 0; i < results->size(); ++i) {
    EXPECT_TRUE((*results)[i].ok()) << i << ": " << (*results)[i].failure().message;
    EXPECT_EQ(told[i], 1) << i;
  }
}

TEST_F(FleetCluster, TenKillsInFourHundredMeasurements) {
  const std::vector<Candidate> candidates = Candidates(400);
  std::atomic<bool> done = false;
  std::atomic<int> kills = 0;
  std::thread killer([&] {
    while (!done && kills < 10) {
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
      const int pid = AnyWorkerProcess(kills % 3);
      if (pid > 0 && kill(pid, SIGKILL) == 0) ++kills;
    }
  });
  const auto results = fleet_->Measure(candidates);
  done = true;
  killer.join();
  ASSERT_TRUE(results.ok()) << results.status();
  std::printf("%d kills\n", kills.load());
  EXPECT_EQ(kills, 10);
  EXPECT_GE(lost_, 5) << "kills of workers at work are noticed";
  ASSERT_EQ(results->size(), candidates.size());
  for (size_t i = 0; i < results->size(); ++i) {
    EXPECT_TRUE((*results)[i].ok()) << i << ": " << (*results)[i].failure().message;
  }
}

}  // namespace
}  // namespace autotune
