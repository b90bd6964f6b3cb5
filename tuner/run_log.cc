#include "tuner/run_log.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "tuner/printable.h"

namespace autotune {
namespace {

// Adds the time of a scope to a sum of seconds.
class ScopedTimer {
 public:
  explicit ScopedTimer(double& sum) : sum_(sum), start_(absl::Now()) {}
  ~ScopedTimer() { sum_ += absl::ToDoubleSeconds(absl::Now() - start_); }
  ScopedTimer(const ScopedTimer&) = delete;
  ScopedTimer& operator=(const ScopedTimer&) = delete;

 private:
  double& sum_;
  absl::Time start_;
};

constexpr char kDeviceSeconds[] = "device_seconds";

// The run's checkpoint: the device time that is spent.
std::string StateText(double device_seconds) {
  const nlohmann::json state = {{kDeviceSeconds, device_seconds}};
  return DumpJson(state, -1);
}

}  // namespace

int64_t InterruptedRun::Measured() const {
  return std::count_if(candidates.begin(), candidates.end(), [](const CandidateRecord& record) {
    return record.fate == Fate::kMeasured;
  });
}

absl::StatusOr<double> LoadDeviceSeconds(RecordStore& store, const std::string& run_id) {
  absl::StatusOr<std::string> text = store.LoadCheckpoint(run_id);
  if (absl::IsNotFound(text.status())) return 0;
  if (!text.ok()) return text.status();
  const nlohmann::json state = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!state.is_object() || !state.contains(kDeviceSeconds) || !state[kDeviceSeconds].is_number()) {
    return absl::DataLossError(absl::StrCat("the state of run ", run_id, " cannot be read"));
  }
  return state[kDeviceSeconds].get<double>();
}

RunLog::RunLog(RecordStore* store, MeasurementContext context, VersionMatch match,
               std::optional<InterruptedRun> interrupted)
    : store_(store),
      context_(std::move(context)),
      match_(match),
      interrupted_(std::move(interrupted)) {
  if (!interrupted_) return;
  for (size_t i = 0; i < interrupted_->candidates.size(); ++i) {
    const CandidateRecord& record = interrupted_->candidates[i];
    next_sequence_ = std::max(next_sequence_, record.sequence + 1);
    const CandidateKey key = {record.kernel_fingerprint, record.config.Key()};
    if (record.fate == Fate::kProposed) proposed_.emplace(key, record.sequence);
    if (record.fate != Fate::kMeasured || !record.measurement) continue;
    journal_[key].push_back(i);
  }
}

absl::Status RunLog::Begin(const RunRecord& run, absl::Span<const Kernel> kernels) {
  run_id_ = run.id;
  begun_unix_micros_ = run.started_unix_micros;
  if (store_ == nullptr) return absl::OkStatus();
  ScopedTimer timer(store_seconds_);
  if (!interrupted_) {
    if (absl::Status status = store_->BeginRun(run); !status.ok()) return status;
  }
  return store_->PutKernels(kernels);
}

absl::StatusOr<std::vector<ReusedResult>> RunLog::Reusable(const Kernel& kernel) {
  if (store_ == nullptr) return std::vector<ReusedResult>();
  ScopedTimer timer(store_seconds_);
  std::vector<ReusedResult> results;
  // An interrupted run without candidates had not come so far.
  if (interrupted_ && !interrupted_->candidates.empty()) {
    for (const CandidateRecord& record : interrupted_->candidates) {
      if (record.fate != Fate::kReused || record.kernel_fingerprint != kernel.fingerprint) continue;
      if (!record.measurement) continue;
      results.push_back({record.config, *record.measurement, record.sequence});
    }
  } else {
    absl::StatusOr<std::vector<StoredResult>> stored =
        store_->Lookup(kernel.fingerprint, context_, match_);
    if (!stored.ok()) return stored.status();
    if (match_ == VersionMatch::kLoose && !stored->empty()) {
      absl::StatusOr<std::vector<StoredResult>> same =
          store_->Lookup(kernel.fingerprint, context_, VersionMatch::kStrict);
      if (!same.ok()) return same.status();
      loosely_reused_ += static_cast<int64_t>(stored->size()) - static_cast<int64_t>(same->size());
    }
    for (StoredResult& result : *stored) {
      results.push_back({std::move(result.config), std::move(result.measurement)});
    }
  }
  std::erase_if(results, [](const ReusedResult& r) { return IsNotRecorded(r.measurement); });
  ++(results.empty() ? misses_ : hits_);
  return results;
}

absl::StatusOr<std::vector<RunLog::OtherKernel>> RunLog::OtherKernels(
    const std::set<std::string>& kinds, absl::Span<const Kernel> own) {
  std::vector<OtherKernel> others;
  if (store_ == nullptr) return others;
  ScopedTimer timer(store_seconds_);
  absl::StatusOr<std::vector<uint64_t>> measured =
      store_->MeasuredKernels(context_, match_, begun_unix_micros_);
  if (!measured.ok()) return measured.status();
  for (const uint64_t fingerprint : *measured) {
    const bool is_own = std::any_of(own.begin(), own.end(), [&](const Kernel& kernel) {
      return kernel.fingerprint == fingerprint;
    });
    if (is_own) continue;
    absl::StatusOr<Kernel> kernel = store_->GetKernel(fingerprint);
    if (!kernel.ok()) return kernel.status();
    if (!kinds.contains(kernel->kind)) continue;
    absl::StatusOr<std::vector<StoredResult>> results =
        store_->LookupBefore(fingerprint, context_, match_, begun_unix_micros_);
    if (!results.ok()) return results.status();
    others.push_back({*std::move(kernel), *std::move(results)});
  }
  return others;
}

std::optional<std::pair<int64_t, Measurement>> RunLog::Replay(const Kernel& kernel,
                                                              const Config& config) {
  const auto it = journal_.find({kernel.fingerprint, config.Key()});
  if (it == journal_.end()) return std::nullopt;
  const CandidateRecord& record = interrupted_->candidates[it->second.front()];
  it->second.pop_front();
  if (it->second.empty()) journal_.erase(it);
  return std::make_pair(record.sequence, *record.measurement);
}

bool RunLog::CanReplay(const Kernel& kernel, const Config& config) const {
  return journal_.contains({kernel.fingerprint, config.Key()});
}

std::vector<CandidateRecord> RunLog::TakeLeftBehind(absl::Span<const CandidateKey> next) {
  const bool on_course = std::all_of(
      next.begin(), next.end(), [this](const CandidateKey& key) { return journal_.contains(key); });
  if (on_course) return {};
  std::vector<CandidateRecord> left;
  for (auto it = journal_.begin(); it != journal_.end();) {
    if (std::find(next.begin(), next.end(), it->first) != next.end()) {
      ++it;
      continue;
    }
    for (size_t position : it->second) left.push_back(interrupted_->candidates[position]);
    it = journal_.erase(it);
  }
  std::sort(left.begin(), left.end(), [](const CandidateRecord& a, const CandidateRecord& b) {
    return a.sequence < b.sequence;
  });
  return left;
}

CandidateOutcome ToOutcome(const CandidateRecord& record, size_t kernel) {
  CandidateOutcome outcome = {.sequence = record.sequence, .kernel = kernel};
  outcome.config = record.config;
  outcome.role = record.is_default ? CandidateRole::kDefault : CandidateRole::kSearch;
  outcome.fate = record.fate;
  outcome.predictions = record.predictions;
  outcome.measurement = record.measurement;
  return outcome;
}

CandidateRecord RunLog::ToRecord(const CandidateOutcome& outcome, const Kernel& kernel) const {
  CandidateRecord record;
  record.run_id = run_id_;
  record.sequence = outcome.sequence;
  record.kernel_fingerprint = kernel.fingerprint;
  record.kernel_name = kernel.name;
  record.context = context_;
  record.config = outcome.config;
  record.fate = outcome.fate;
  record.predictions = outcome.predictions;
  record.measurement = outcome.measurement;
  record.is_default = outcome.role == CandidateRole::kDefault;
  record.unix_micros = absl::ToUnixMicros(absl::Now());
  return record;
}

absl::Status RunLog::Store(CandidateOutcome& outcome, absl::Span<const Kernel> kernels) {
  if (store_ == nullptr) return absl::OkStatus();
  ScopedTimer timer(store_seconds_);
  CandidateRecord record = ToRecord(outcome, kernels[outcome.kernel]);
  record.sequence = next_sequence_;
  absl::Status status = store_->Append({std::move(record)}, StateText(outcome.device_seconds));
  if (status.ok()) {
    outcome.sequence = next_sequence_++;
  } else if (!absl::IsUnavailable(status) && !absl::IsResourceExhausted(status)) {
    broken_.Update(status);  // nobody knows what of it was kept: it must not get another number
  }
  return status;
}

absl::Status RunLog::Append(std::vector<CandidateOutcome> outcomes,
                            absl::Span<const Kernel> kernels) {
  if (!broken_.ok()) return broken_;
  std::vector<CandidateRecord> records;
  int64_t sequence = next_sequence_;
  double device_seconds = 0;
  for (CandidateOutcome& outcome : outcomes) {
    device_seconds = std::max(device_seconds, outcome.device_seconds);
    if (outcome.sequence >= 0) continue;
    const Kernel& kernel = kernels[outcome.kernel];
    const auto known = proposed_.find({kernel.fingerprint, outcome.config.Key()});
    if (outcome.fate == Fate::kProposed && known != proposed_.end()) {
      outcome.sequence = known->second;
      continue;
    }
    outcome.sequence = sequence++;
    records.push_back(ToRecord(outcome, kernel));
  }
  if (store_ != nullptr && !records.empty()) {
    ScopedTimer timer(store_seconds_);
    absl::Status status = store_->Append(records, StateText(device_seconds));
    if (!status.ok()) return status;
  }
  next_sequence_ = sequence;
  std::move(outcomes.begin(), outcomes.end(), std::back_inserter(outcomes_));
  return absl::OkStatus();
}

absl::Status RunLog::Finish(int64_t unix_micros, const std::string& outcome) {
  if (store_ == nullptr) return absl::OkStatus();
  ScopedTimer timer(store_seconds_);
  return store_->FinishRun(run_id_, unix_micros, outcome);
}

}  // namespace autotune
