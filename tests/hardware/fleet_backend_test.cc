// The fleet without a cluster: workers are functions, hosts are names, and everything that can go
// wrong with them is arranged.

#include "hardware/fleet_backend.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hardware/fleet_messages.h"
#include "hardware/fleet_worker.h"
#include "hardware/recording.h"

namespace autotune {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// Times each configuration by its first output bound, in microseconds times `factor`.
class BoundBackend : public MeasurementBackend {
 public:
  explicit BoundBackend(double factor, std::string versions = "1") : factor_(factor) {
    capabilities_ = {.name = "pjrt", .device = "tpu-v3", .versions = std::move(versions)};
  }
  const Capabilities& capabilities() const override { return capabilities_; }
  absl::StatusOr<std::vector<Measurement>> Measure(
      absl::Span<const Candidate> candidates) override {
    std::vector<Measurement> results;
    for (const Candidate& candidate : candidates) {
      const int64_t bound = candidate.config.tile()->output[0];
      if (bound == 13) {
        results.push_back(Measurement::FromFailure(FailureKind::kCompileError, "thirteen"));
      } else {
        results.push_back(Measurement::FromSamples({factor_ * 1e-6 * static_cast<double>(bound)},
                                                   TimeSource::kHardware));
      }
    }
    return results;
  }

 private:
  double factor_;
  Capabilities capabilities_;
};

// What a worker does with a request: answer, die or hang.
enum class Deed { kAnswer, kDie, kHang };

struct Host {
  std::string name;
  int room = 1;
  double factor = 1;
  std::string versions = "1";
};

// Places workers on the host with the most room.
class FakeCluster : public FleetTransport {
 public:
  struct Log {
    std::map<std::string, int64_t> measured;  // by configuration's key
    std::map<std::string, int64_t> by_host;
    int started = 0;
  };
  // The deed for a request on a host, given the candidates' keys.
  using Script = std::function<Deed(const std::string& host, const std::vector<std::string>& keys)>;

  FakeCluster(std::vector<Host> hosts, Script script, Log* log)
      : hosts_(std::move(hosts)), script_(std::move(script)), log_(log) {}

  absl::StatusOr<int> StartWorker() override {
    ++log_->started;
    const int id = next_++;
    workers_[id] = nullptr;
    Place();
    return id;
  }

  void StopWorker(int worker) override {
    if (Host* host = workers_[worker]) ++host->room;
    workers_.erase(worker);
    std::erase_if(requests_, [&](const Request& request) { return request.worker == worker; });
    Place();
  }

  absl::StatusOr<int64_t> Submit(int worker, const std::string& request) override {
    requests_.push_back({next_ticket_, worker, request});
    return next_ticket_++;
  }

  std::vector<Event> Wait(absl::Duration) override {
    std::vector<Event> events;
    std::deque<Request> later;
    for (Request& request : requests_) {
      Host* host = workers_[request.worker];
      if (host == nullptr) {
        later.push_back(request);
        continue;
      }
      const auto content = ParseFleetRequest(request.bytes);
      EXPECT_TRUE(content.ok()) << content.status();
      std::vector<std::string> keys;
      for (const Candidate& candidate : content->candidates) keys.push_back(candidate.config.Key());
      Deed deed = keys.empty() ? Deed::kAnswer : script_(host->name, keys);
      // The dead answer nothing, and what hangs does not come to its next request.
      if (const auto last = ends_.find(request.worker); last != ends_.end()) deed = last->second;
      if (deed != Deed::kAnswer) ends_[request.worker] = deed;
      if (deed == Deed::kHang) {
        later.push_back(request);
      } else if (deed == Deed::kDie) {
        events.push_back({request.ticket, absl::UnavailableError("the worker died")});
      } else {
        for (const std::string& key : keys) ++log_->measured[key];
        log_->by_host[host->name] += static_cast<int64_t>(keys.size());
        BoundBackend backend(host->factor, host->versions);
        events.push_back({request.ticket, AnswerFleetRequest(backend, host->name, request.bytes)});
      }
    }
    requests_ = std::move(later);
    return events;
  }

 private:
  struct Request {
    int64_t ticket;
    int worker;
    std::string bytes;
  };

  void Place() {
    for (auto& [id, place] : workers_) {
      if (place != nullptr) continue;
      for (Host& host : hosts_) {
        if (host.room > 0 && (place == nullptr || host.room > place->room)) place = &host;
      }
      if (place != nullptr) --place->room;
    }
  }

  std::vector<Host> hosts_;
  Script script_;
  Log* log_;
  std::map<int, Host*> workers_;
  std::map<int, Deed> ends_;  // of workers that died or hang
  std::deque<Request> requests_;
  int next_ = 0;
  int64_t next_ticket_ = 1;
};

class FleetTest : public ::testing::Test {
 protected:
  FleetTest() {
    recording_ = std::make_unique<Recording>(
        *Recording::Load(absl::StrCat(AUTOTUNE_SOURCE_DIR, "/examples/alexnet/tpu_v3.pb")));
    for (int64_t i = 1; i <= 40; ++i) {
      candidates_.push_back({&recording_->kernels()[static_cast<size_t>(i % 3)].kernel(),
                             Config(TileBounds{.output = {i, 2}})});
    }
    options_.workers = 4;
    options_.check_every = 0;
    options_.batch = 4;
    options_.request_time = absl::InfiniteDuration();  // requests do not depend on the load
    options_.timeout = absl::ZeroDuration();
    options_.start_timeout = absl::Milliseconds(30);
    options_.notify = [this](const std::string& message) { messages_.push_back(message); };
  }

  std::vector<Measurement> Measure(std::vector<Host> hosts, FakeCluster::Script script) {
    auto fleet = FleetBackend::Create(
        std::make_unique<FakeCluster>(std::move(hosts), std::move(script), &log_), options_);
    EXPECT_TRUE(fleet.ok()) << fleet.status();
    if (!fleet.ok()) return {};
    EXPECT_EQ((*fleet)->capabilities().name, "fleet");
    EXPECT_EQ((*fleet)->capabilities().device, "tpu-v3");
    std::map<size_t, std::string> told;
    auto results = (*fleet)->MeasureEach(candidates_, [&](size_t position, const Measurement& one) {
      EXPECT_TRUE(told.emplace(position, TextOf(one)).second) << position << " is told twice";
    });
    EXPECT_TRUE(results.ok()) << results.status();
    // Whatever happens to workers, each result is told once, as it is in the end.
    for (size_t i = 0; results.ok() && i < results->size(); ++i) {
      EXPECT_EQ(told[i], TextOf((*results)[i])) << i;
    }
    return results.ok() ? *std::move(results) : std::vector<Measurement>();
  }

  static std::string TextOf(const Measurement& one) {
    return one.ok() ? absl::StrCat(one.MedianSeconds(), " ", one.method)
                    : absl::StrCat("failed: ", one.failure().message);
  }

  // Every candidate has its own result, in order.
  void ExpectAllMeasured(const std::vector<Measurement>& results) {
    ASSERT_EQ(results.size(), candidates_.size());
    for (size_t i = 0; i < results.size(); ++i) {
      if (i + 1 == 13) {
        EXPECT_EQ(results[i].failure().kind, FailureKind::kCompileError);
        continue;
      }
      ASSERT_TRUE(results[i].ok()) << i << " " << results[i].failure().message;
      EXPECT_DOUBLE_EQ(results[i].MedianSeconds(), 1e-6 * static_cast<double>(i + 1));
    }
  }

  std::unique_ptr<Recording> recording_;
  std::vector<Candidate> candidates_;
  FleetOptions options_;
  FakeCluster::Log log_;
  std::vector<std::string> messages_;
};

TEST_F(FleetTest, SharesTheWorkAndKeepsTheOrder) {
  ExpectAllMeasured(Measure({{"a", 2}, {"b", 2}}, [](auto&, auto&) { return Deed::kAnswer; }));
  EXPECT_EQ(log_.started, 4);
  EXPECT_GT(log_.by_host["a"], 8);
  EXPECT_GT(log_.by_host["b"], 8);
  for (const auto& [key, count] : log_.measured) EXPECT_EQ(count, 1) << key;
  EXPECT_TRUE(messages_.empty());
}

TEST_F(FleetTest, AWorkerThatDiesIsReplacedAndNothingIsLostOrDoubled) {
  int requests = 0;
  ExpectAllMeasured(Measure(
      {{"a", 4}}, [&](auto&, auto&) { return ++requests % 5 == 3 ? Deed::kDie : Deed::kAnswer; }));
  EXPECT_GT(log_.started, 5);
  for (const auto& [key, count] : log_.measured) EXPECT_EQ(count, 1) << key;
  EXPECT_THAT(messages_, Contains(HasSubstr("a worker was lost: the worker died")));
}

TEST_F(FleetTest, AWorkerThatHangsIsReplaced) {
  int requests = 0;
  ExpectAllMeasured(Measure(
      {{"a", 4}}, [&](auto&, auto&) { return ++requests == 2 ? Deed::kHang : Deed::kAnswer; }));
  EXPECT_THAT(messages_, Contains(HasSubstr("did not answer in time")));
}

TEST_F(FleetTest, ACandidateThatKillsEveryWorkerHasFailed) {
  const std::vector<Measurement> results =
      Measure({{"a", 2}, {"b", 2}}, [](auto&, const std::vector<std::string>& keys) {
        for (const std::string& key : keys) {
          if (key == "o=7,2") return Deed::kDie;
        }
        return Deed::kAnswer;
      });
  ASSERT_EQ(results.size(), 40u);
  ASSERT_FALSE(results[6].ok());
  EXPECT_EQ(results[6].failure().kind, FailureKind::kCrash);
  EXPECT_THAT(results[6].failure().message, HasSubstr("3 workers were lost over it"));
  EXPECT_EQ(log_.measured.count("o=7,2"), 0u);
  EXPECT_EQ(log_.measured.size(), 39u) << "those that were sent with it are measured";
}

TEST_F(FleetTest, AHostThatKeepsFailingIsLeftOut) {
  ExpectAllMeasured(Measure({{"bad", 2}, {"good", 2}}, [](const std::string& host, auto&) {
    return host == "bad" ? Deed::kDie : Deed::kAnswer;
  }));
  EXPECT_EQ(log_.by_host["bad"], 0);
  EXPECT_THAT(messages_, Contains(HasSubstr("bad is left out: 3 requests in a row failed")));
}

TEST_F(FleetTest, AHostWithOtherVersionsIsLeftOut) {
  ExpectAllMeasured(
      Measure({{"a", 2}, {"b", 2, 1, "2"}}, [](auto&, auto&) { return Deed::kAnswer; }));
  EXPECT_EQ(log_.by_host["b"], 0);
  EXPECT_THAT(messages_, Contains(HasSubstr("b is left out: it measures with pjrt on tpu-v3 (2)")));
}

TEST_F(FleetTest, HostsThatDisagreeAreFlagged) {
  options_.check_every = 4;
  const std::vector<Measurement> results =
      Measure({{"a", 2}, {"slow", 2, 1.5}}, [](auto&, auto&) { return Deed::kAnswer; });
  int64_t flagged = 0;
  for (const Measurement& result : results) {
    if (result.method.empty()) continue;
    EXPECT_EQ(result.method, "hosts disagree by 41 %");  // log(1.5)
    ++flagged;
  }
  EXPECT_GT(flagged, 2);
  EXPECT_EQ(static_cast<int64_t>(messages_.size()), flagged);
  int64_t twice = 0;
  for (const auto& [key, count] : log_.measured) {
    EXPECT_LE(count, 2);
    twice += count == 2 ? 1 : 0;
  }
  EXPECT_GE(twice, flagged);
}

TEST_F(FleetTest, HostsThatAgreeAreNotFlagged) {
  options_.check_every = 1;
  ExpectAllMeasured(Measure({{"a", 2}, {"b", 2, 1.0}}, [](auto&, auto&) { return Deed::kAnswer; }));
  EXPECT_TRUE(messages_.empty());
  EXPECT_EQ(log_.measured["o=2,2"], 2);
}

// A driver that dies in the middle has lost only what was under way.
TEST_F(FleetTest, ResultsAreToldWhileOthersAreStillMeasured) {
  auto fleet = *FleetBackend::Create(
      std::make_unique<FakeCluster>(
          std::vector<Host>{{"a", 4}}, [](auto&, auto&) { return Deed::kAnswer; }, &log_),
      options_);
  size_t told = 0;
  size_t first_told_at = 0;  // how many were measured when the first result was told
  ASSERT_TRUE(fleet
                  ->MeasureEach(candidates_,
                                [&](size_t, const Measurement&) {
                                  if (told++ == 0) first_told_at = log_.measured.size();
                                })
                  .ok());
  EXPECT_EQ(told, candidates_.size());
  EXPECT_LE(first_told_at, candidates_.size() / 2 + 16);
  EXPECT_LT(first_told_at, candidates_.size());
}

TEST_F(FleetTest, SlowCandidatesGoOneInARequest) {
  options_.request_time = absl::ZeroDuration();
  ExpectAllMeasured(Measure({{"a", 4}}, [](auto&, const std::vector<std::string>& keys) {
    EXPECT_EQ(keys.size(), 1u);
    return Deed::kAnswer;
  }));
}

TEST_F(FleetTest, WithoutAWorkerThatWorksThereIsNoFleet) {
  options_.start_timeout = absl::Milliseconds(1);
  const auto none = FleetBackend::Create(
      std::make_unique<FakeCluster>(std::vector<Host>{}, nullptr, &log_), options_);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("no worker of the fleet works"));
}

TEST(FleetWorker, TakesItsBackendFromItsOwnConfigurationOnly) {
  EXPECT_EQ(
      (*FleetWorkerBackend(R"({"backend": "sleep", "milliseconds": 0})"))->capabilities().name,
      "sleep");
  for (const char* config :
       {"", "[]", "{}", R"({"backend": "shell"})", R"({"backend": "sleep", "command": "x"})",
        R"({"backend": "sleep", "milliseconds": "1"})", R"({"backend": "aot", "target": 3})",
        R"({"backend": "sleep", "target": "v99"})"}) {
    EXPECT_FALSE(FleetWorkerBackend(config).ok()) << config;
  }
}

TEST(FleetWorker, AKernelIsReadOnce) {
  const absl::StatusOr<Recording> recording =
      Recording::Load(AUTOTUNE_SOURCE_DIR "/examples/alexnet/tpu_v3.pb");
  ASSERT_TRUE(recording.ok()) << recording.status();
  const Kernel& kernel = recording->kernels()[0].kernel();
  const std::string request =
      FleetRequestBytes({{&kernel, Config(TileBounds{.output = {8, 128}})}});
  FleetKernelCache cache;
  const auto first = ParseFleetRequest(request, &cache);
  const auto second = ParseFleetRequest(request, &cache);
  ASSERT_TRUE(first.ok() && second.ok()) << first.status();
  EXPECT_EQ(first->candidates[0].kernel, second->candidates[0].kernel);
  EXPECT_EQ(first->candidates[0].kernel->fingerprint, kernel.fingerprint);
  const auto alone = ParseFleetRequest(request);
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_NE(alone->candidates[0].kernel, first->candidates[0].kernel);
  // What cannot be read is not kept.
  EXPECT_FALSE(cache.Get("\xff\xff").ok());
  EXPECT_FALSE(cache.Get("\xff\xff").ok());
}

TEST(FleetWords, OfRayAreThoseThatMatter) {
  EXPECT_EQ(WordsOfRay("Invalid: An exception was thrown while executing function(&F::Handle): "
                       "std::runtime_error: the measuring process died\n  at 0x12"),
            "the measuring process died");
  EXPECT_EQ(WordsOfRay("The actor died unexpectedly.\nstack"), "The actor died unexpectedly.");
}

TEST(FleetWorker, BadRequestsAreAnsweredWithAnError) {
  BoundBackend backend(1);
  for (const char* request : {"\xff\xff", "\x12\x02\x08\x05", "\x0a\x00"}) {
    const std::string reply = AnswerFleetRequest(backend, "h", request);
    EXPECT_EQ(ParseFleetReply(reply, 0).status().code(), absl::StatusCode::kInternal);
  }
  const std::string good = AnswerFleetRequest(backend, "h", FleetRequestBytes({}));
  EXPECT_EQ(ParseFleetReply(good, 0)->capabilities.device, "tpu-v3");
  EXPECT_EQ(ParseFleetReply(good, 1).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ParseFleetReply("\xff", 0).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace autotune
