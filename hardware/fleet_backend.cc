#include "hardware/fleet_backend.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "hardware/fleet_messages.h"
#include "hardware/fleet_queue.h"

namespace autotune {
namespace {

// How often workers are tried again when nothing works any more.
constexpr int kHopelessStarts = 5;
// Requests that one worker has at a time: the one that it works on, and those that are there when
// it is done with it, however long messages take.
constexpr size_t kRequestsAhead = 3;
// Candidates that take longer go to a worker one request at a time: what waits at one worker cannot
// go to another, and the way there is short beside them.
constexpr absl::Duration kSlowCandidate = absl::Seconds(2);
// The longest wait in one go: deadlines are looked at in between.
constexpr absl::Duration kPoll = absl::Seconds(1);

}  // namespace

// The workers with what they are at, and the candidates that wait for them.
class FleetBackend::Scheduler {
 public:
  Scheduler(std::unique_ptr<FleetTransport> transport, const FleetOptions& options)
      : transport_(std::move(transport)), options_(options) {}

  ~Scheduler() {
    for (const auto& [id, worker] : workers_) transport_->StopWorker(id);
  }

  const Capabilities& capabilities() const { return capabilities_; }

  absl::Status Start() {
    for (int i = 0; i < options_.workers; ++i) {
      if (absl::Status status = AddWorker(); !status.ok()) return status;
    }
    FleetQueue nothing({}, 0);
    queue_ = &nothing;
    absl::Status status;
    while (status.ok() && capabilities_.name.empty()) status = Step({});
    queue_ = nullptr;
    return status;
  }

  absl::StatusOr<std::vector<Measurement>> Measure(absl::Span<const Candidate> candidates,
                                                   ResultSink sink) {
    FleetQueue queue(candidates, options_.check_every);
    queue_ = &queue;
    absl::Status status;
    while (status.ok() && !queue.Done(Hosts().size())) {
      status = Assign(candidates);
      if (status.ok()) status = Step(candidates);
      for (const size_t position : queue.TakeFinished(Hosts().size())) {
        sink(position, queue.result(position));
      }
    }
    queue_ = nullptr;
    if (!status.ok()) return status;
    return queue.TakeResults();
  }

 private:
  // A request that is not answered yet.
  struct Request {
    int64_t ticket = 0;
    absl::Duration patience;
    std::vector<size_t> positions;  // of its candidates
    absl::Time sent;
  };

  struct Worker {
    std::string host;              // empty until it has said what it is
    std::deque<Request> requests;  // it is at the first one; the next is there when it is done
    absl::Time deadline;           // of the first one
    absl::Time answered;           // when it was done with the one before

    bool busy() const { return !requests.empty(); }
  };

  void Notify(const std::string& message) {
    if (options_.notify) options_.notify(message);
  }

  bool LeftOut(const std::string& host) const { return left_out_.count(host) > 0; }

  // Those that are not left out.
  std::set<std::string> Hosts() const {
    std::set<std::string> hosts;
    for (const auto& [id, worker] : workers_) {
      if (!worker.host.empty() && !LeftOut(worker.host)) hosts.insert(worker.host);
    }
    return hosts;
  }

  // A worker's first request asks what it is.
  absl::Status AddWorker() {
    absl::StatusOr<int> id = transport_->StartWorker();
    if (!id.ok()) return id.status();
    return Send(*id, FleetRequestBytes({}), {}, options_.start_timeout);
  }

  absl::Status Send(int id, const std::string& request, std::vector<size_t> positions,
                    absl::Duration patience) {
    absl::StatusOr<int64_t> ticket = transport_->Submit(id, request);
    if (!ticket.ok()) return ticket.status();
    Worker& worker = workers_[id];
    if (!worker.busy()) worker.deadline = absl::Now() + patience;
    worker.requests.push_back({*ticket, patience, std::move(positions), absl::Now()});
    return absl::OkStatus();
  }

  size_t RequestsAhead() const {
    return candidate_time_.has_value() && *candidate_time_ < kSlowCandidate ? kRequestsAhead : 1;
  }

  // Gives work to every worker that has none, and then one request more to each, so that it need
  // not wait for the next one.
  absl::Status Assign(absl::Span<const Candidate> candidates) {
    const size_t most = RequestsAhead();
    for (size_t depth = 0; depth < most; ++depth) {
      for (auto& [id, worker] : workers_) {
        if (worker.requests.size() != depth || worker.host.empty() || LeftOut(worker.host)) {
          continue;
        }
        if (absl::Status status = Give(id, worker, candidates); !status.ok()) return status;
      }
    }
    return absl::OkStatus();
  }

  // How many candidates the next request holds: a fair share of what is left, and not more than a
  // worker gets done in time. One, as long as nobody knows how long one takes.
  int RequestSize() const {
    const size_t share = queue_->waiting() / (3 * std::max<size_t>(workers_.size(), 1));
    int most = options_.request_time == absl::InfiniteDuration() ? options_.batch : 1;
    if (candidate_time_.has_value()) {
      most = static_cast<int>(
          std::min(1e6, absl::FDivDuration(options_.request_time,
                                           std::max(*candidate_time_, absl::Microseconds(1)))));
    }
    return std::clamp(std::min(static_cast<int>(share), most), 1, options_.batch);
  }

  absl::Status Give(int id, const Worker& worker, absl::Span<const Candidate> candidates) {
    const int most = RequestSize();
    std::vector<size_t> positions = queue_->Take(worker.host, most, Hosts().size());
    if (positions.empty()) return absl::OkStatus();
    std::vector<Candidate> chosen;
    chosen.reserve(positions.size());
    for (const size_t position : positions) chosen.push_back(candidates[position]);
    const absl::Duration patience =
        options_.start_timeout + static_cast<int64_t>(positions.size()) * options_.timeout;
    return Send(id, FleetRequestBytes(chosen), std::move(positions), patience);
  }

  // Waits for an answer and takes it in; sees to those that do not answer in time.
  absl::Status Step(absl::Span<const Candidate> candidates) {
    absl::Time next = absl::Now() + kPoll;
    for (const auto& [id, worker] : workers_) {
      if (worker.busy()) next = std::min(next, worker.deadline);
    }
    std::vector<FleetTransport::Event> events = transport_->Wait(next - absl::Now());
    // A worker answers in order, almost always: its first request comes first.
    std::sort(events.begin(), events.end(),
              [](const auto& a, const auto& b) { return a.ticket < b.ticket; });
    for (const FleetTransport::Event& event : events) {
      const auto worker = std::find_if(workers_.begin(), workers_.end(), [&](const auto& entry) {
        return Find(entry.second, event.ticket) < entry.second.requests.size();
      });
      if (worker == workers_.end()) continue;
      if (absl::Status status = Take(worker->first, event, candidates); !status.ok()) return status;
    }
    std::vector<int> late;
    for (const auto& [id, worker] : workers_) {
      if (worker.busy() && absl::Now() >= worker.deadline) late.push_back(id);
    }
    for (const int id : late) {
      absl::Status status = Replace(id, {FailureKind::kTimeout, "it did not answer in time"});
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // The position of a request, or how many there are.
  static size_t Find(const Worker& worker, int64_t ticket) {
    const auto request = std::find_if(worker.requests.begin(), worker.requests.end(),
                                      [&](const Request& r) { return r.ticket == ticket; });
    return static_cast<size_t>(request - worker.requests.begin());
  }

  absl::Status Take(int id, const FleetTransport::Event& event,
                    absl::Span<const Candidate> candidates) {
    Worker& worker = workers_[id];
    if (!event.reply.ok()) {
      return Replace(id, {FailureKind::kCrash, std::string(event.reply.status().message())});
    }
    const auto request =
        worker.requests.begin() + static_cast<std::ptrdiff_t>(Find(worker, event.ticket));
    const size_t asked = request->positions.size();
    absl::StatusOr<FleetAnswer> answer = ParseFleetReply(*event.reply, asked);
    if (!answer.ok()) {
      return Replace(id, {FailureKind::kCrash, std::string(answer.status().message())});
    }
    const std::vector<size_t> positions = std::move(request->positions);
    NoteTime(worker, request->sent, positions.size());
    worker.requests.erase(request);
    if (worker.busy()) worker.deadline = absl::Now() + worker.requests.front().patience;
    if (worker.host.empty()) return Welcome(id, *answer);
    host_failures_[worker.host] = 0;
    useless_starts_ = 0;
    for (size_t i = 0; i < positions.size(); ++i) {
      const size_t position = positions[i];
      const std::optional<double> difference =
          queue_->Answered(position, worker.host, std::move(answer->results[i]));
      if (!difference || *difference <= options_.check_tolerance) continue;
      const std::string remark =
          absl::StrCat("hosts disagree by ", std::lround(100 * *difference), " %");
      queue_->Remark(position, remark);
      Notify(absl::StrCat(candidates[position].kernel->name, " ", candidates[position].config.Key(),
                          ": ", remark, " (", worker.host, " is one of them)"));
    }
    return absl::OkStatus();
  }

  // A worker is done with a request: keeps how long a candidate takes, on average lately.
  void NoteTime(Worker& worker, absl::Time sent, size_t candidates) {
    const absl::Time now = absl::Now();
    const absl::Duration took = now - std::max(worker.answered, sent);
    worker.answered = now;
    if (candidates == 0) return;
    const absl::Duration one = took / static_cast<int64_t>(candidates);
    candidate_time_ = candidate_time_.has_value() ? (3 * *candidate_time_ + one) / 4 : one;
  }

  // The first worker says what all of them have to be.
  absl::Status Welcome(int id, const FleetAnswer& answer) {
    Worker& worker = workers_[id];
    worker.host = answer.host;
    const Capabilities& says = answer.capabilities;
    if (capabilities_.name.empty()) {
      capabilities_ = says;
      capabilities_.name = "fleet";
      worker_backend_ = says.name;
    } else if (says.name != worker_backend_ || says.device != capabilities_.device ||
               says.versions != capabilities_.versions ||
               says.time_source != capabilities_.time_source) {
      LeaveOut(answer.host,
               absl::StrCat("it measures with ", says.name, " on ", says.device, " (",
                            says.versions, "), the others with ", worker_backend_, " on ",
                            capabilities_.device, " (", capabilities_.versions, ")"));
    }
    if (!LeftOut(answer.host)) return absl::OkStatus();
    transport_->StopWorker(id);
    workers_.erase(id);
    return StartAgain("only hosts that are left out have room");
  }

  // Kills a worker; its candidates wait again, and another worker takes its place.
  absl::Status Replace(int id, const Failure& failure) {
    const Worker worker = std::move(workers_[id]);
    workers_.erase(id);
    transport_->StopWorker(id);
    const std::string host = worker.host.empty() ? "a new worker" : worker.host;
    Notify(absl::StrCat(host, ": a worker was lost: ", failure.message));
    // What it had not begun is not to blame.
    for (size_t i = 1; i < worker.requests.size(); ++i) {
      queue_->GiveBack(worker.requests[i].positions);
    }
    queue_->Lost(worker.requests.front().positions, worker.host, options_.attempts, failure);
    if (!worker.host.empty() && ++host_failures_[worker.host] >= options_.host_failures &&
        HostsBeside(worker.host) > 0) {
      LeaveOut(worker.host, absl::StrCat(host_failures_[worker.host], " requests in a row failed"));
    }
    return StartAgain(failure.message);
  }

  int64_t HostsBeside(const std::string& host) const {
    const std::set<std::string> hosts = Hosts();
    return static_cast<int64_t>(hosts.size()) - static_cast<int64_t>(hosts.count(host));
  }

  void LeaveOut(const std::string& host, const std::string& why) {
    if (!left_out_.insert(host).second) return;
    Notify(absl::StrCat(host, " is left out: ", why));
    // Idle workers there are not needed any more; busy ones may end what they have.
    std::erase_if(workers_, [&](const auto& entry) {
      if (entry.second.host != host || entry.second.busy()) return false;
      transport_->StopWorker(entry.first);
      return true;
    });
  }

  // One more worker, unless that has been of no use for too long.
  absl::Status StartAgain(const std::string& why) {
    if (++useless_starts_ <= kHopelessStarts * std::max(options_.workers, 1)) return AddWorker();
    if (!workers_.empty()) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat("no worker of the fleet works: ", why));
  }

  std::unique_ptr<FleetTransport> transport_;
  const FleetOptions options_;
  Capabilities capabilities_;
  std::string worker_backend_;
  std::map<int, Worker> workers_;
  std::map<std::string, int> host_failures_;
  std::set<std::string> left_out_;
  int useless_starts_ = 0;
  std::optional<absl::Duration> candidate_time_;
  FleetQueue* queue_ = nullptr;  // of the batch that is being measured
};

FleetBackend::FleetBackend(std::unique_ptr<Scheduler> scheduler)
    : scheduler_(std::move(scheduler)) {}

FleetBackend::~FleetBackend() = default;

absl::StatusOr<std::unique_ptr<FleetBackend>> FleetBackend::Create(
    std::unique_ptr<FleetTransport> transport, const FleetOptions& options) {
  if (options.workers < 1 || options.batch < 1 || options.attempts < 1) {
    return absl::InvalidArgumentError("a fleet needs workers, batches and attempts");
  }
  auto scheduler = std::make_unique<Scheduler>(std::move(transport), options);
  if (absl::Status status = scheduler->Start(); !status.ok()) return status;
  return std::unique_ptr<FleetBackend>(new FleetBackend(std::move(scheduler)));
}

const Capabilities& FleetBackend::capabilities() const { return scheduler_->capabilities(); }

absl::StatusOr<std::vector<Measurement>> FleetBackend::Measure(
    absl::Span<const Candidate> candidates) {
  return MeasureEach(candidates, [](size_t, const Measurement&) {});
}

absl::StatusOr<std::vector<Measurement>> FleetBackend::MeasureEach(
    absl::Span<const Candidate> candidates, ResultSink sink) {
  return scheduler_->Measure(candidates, sink);
}

}  // namespace autotune
