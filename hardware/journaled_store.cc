#include "hardware/journaled_store.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hardware/record_journal.h"

namespace autotune {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(50);
constexpr absl::Duration kLongestPause = absl::Seconds(5);

bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
}

// Calls `attempt` until it gives something else than what may pass, with growing pauses. `tell`,
// which may be null, hears once what is waited for, unless that takes only a small part of
// `patience`.
absl::Status Retry(absl::Duration patience, const std::function<void(const std::string&)>& tell,
                   absl::FunctionRef<absl::Status()> attempt) {
  const absl::Time start = absl::Now();
  absl::Duration pause = kFirstPause;
  for (bool told = tell == nullptr;;) {
    absl::Status status = attempt();
    if (!MayPass(status) || absl::Now() + pause > start + patience) return status;
    if (!told && absl::Now() - start > patience / 30) {
      tell(absl::StrCat(std::string(status.message()), "; trying again for up to ",
                        absl::FormatDuration(patience)));
      told = true;
    }
    absl::SleepFor(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

class JournaledStore : public RecordStore {
 public:
  JournaledStore(std::unique_ptr<RecordStore> store, std::unique_ptr<RecordJournal> journal,
                 JournalOptions options)
      : store_(std::move(store)), options_(std::move(options)), journal_(std::move(journal)) {}

  const std::string& url() const override { return store_->url(); }

  absl::Status BeginRun(const RunRecord& run) override {
    bool tried = false;
    return Retry(Patience(), options_.notify, [&] {
      absl::Status status = store_->BeginRun(run);
      // The connection may break after the run began and before the answer came.
      if (tried && absl::IsAlreadyExists(status)) return absl::OkStatus();
      tried = true;
      return status;
    });
  }

  absl::Status FinishRun(const std::string& run_id, int64_t finished_unix_micros,
                         const std::string& outcome) override {
    if (absl::Status status = Settle(); !status.ok()) return status;
    return Retry(Patience(), options_.notify,
                 [&] { return store_->FinishRun(run_id, finished_unix_micros, outcome); });
  }

  absl::StatusOr<RunRecord> GetRun(const std::string& run_id) override {
    return Ask<RunRecord>([&] { return store_->GetRun(run_id); });
  }
  absl::StatusOr<std::vector<RunRecord>> ListRuns() override {
    return Ask<std::vector<RunRecord>>([&] { return store_->ListRuns(); });
  }
  absl::Status PutKernels(absl::Span<const Kernel> kernels) override {
    return Retry(Patience(), options_.notify, [&] { return store_->PutKernels(kernels); });
  }
  absl::StatusOr<Kernel> GetKernel(uint64_t fingerprint) override {
    return Ask<Kernel>([&] { return store_->GetKernel(fingerprint); });
  }
  absl::StatusOr<std::string> LoadCheckpoint(const std::string& run_id) override {
    return Ask<std::string>([&] { return store_->LoadCheckpoint(run_id); });
  }
  absl::StatusOr<std::vector<StoredResult>> LookupBefore(uint64_t kernel_fingerprint,
                                                         const MeasurementContext& context,
                                                         VersionMatch match,
                                                         int64_t unix_micros) override {
    return Ask<std::vector<StoredResult>>(
        [&] { return store_->LookupBefore(kernel_fingerprint, context, match, unix_micros); });
  }
  absl::StatusOr<std::vector<uint64_t>> MeasuredKernels(const MeasurementContext& context,
                                                        VersionMatch match,
                                                        int64_t unix_micros) override {
    return Ask<std::vector<uint64_t>>(
        [&] { return store_->MeasuredKernels(context, match, unix_micros); });
  }
  absl::StatusOr<std::vector<CandidateRecord>> RunCandidates(const std::string& run_id) override {
    return Ask<std::vector<CandidateRecord>>([&] { return store_->RunCandidates(run_id); });
  }
  absl::StatusOr<StoreTotals> Totals() override {
    return Ask<StoreTotals>([&] { return store_->Totals(); });
  }
  absl::StatusOr<std::vector<DamagedRecord>> Verify() override {
    return Ask<std::vector<DamagedRecord>>([&] { return store_->Verify(); });
  }
  absl::StatusOr<PruneCounts> Prune(const PruneRequest& request) override {
    return store_->Prune(request);
  }

  absl::Status Append(absl::Span<const CandidateRecord> records,
                      std::optional<std::string> checkpoint) override {
    absl::MutexLock lock(&mutex_);
    const absl::Status noted = journal_->Append(records, checkpoint);
    if (!noted.ok()) {  // there is nothing to wait in
      absl::Status stored = Deliver(absl::Seconds(options_.append_patience_seconds));
      if (stored.ok()) stored = store_->Append(records, std::move(checkpoint));
      if (stored.ok()) return stored;
      return absl::Status(stored.code(), absl::StrCat(std::string(stored.message()), "; and ",
                                                      std::string(noted.message())));
    }
    // While the store is known to be away, only now and then a result waits for it.
    if (absl::Now() < next_attempt_) return absl::OkStatus();
    const bool away = next_attempt_ != absl::InfinitePast();
    if (!away && absl::Now() - delivered_ < absl::Seconds(options_.store_every_seconds)) {
      return absl::OkStatus();
    }
    const absl::Status stored =
        Deliver(away ? absl::ZeroDuration() : absl::Seconds(options_.append_patience_seconds));
    if (!MayPass(stored)) return stored;
    if (!away) {
      Notify(absl::StrCat(std::string(stored.message()), "; results wait in ", journal_->path()));
    }
    pause_ = away ? std::min(2 * pause_, absl::Seconds(30)) : absl::Seconds(1);
    next_attempt_ = absl::Now() + pause_;
    return absl::OkStatus();
  }

 private:
  absl::Duration Patience() const { return absl::Seconds(options_.patience_seconds); }

  void Notify(const std::string& message) {
    if (options_.notify) options_.notify(message);
  }

  // Puts what waits into the store. The journal is emptied afterwards: a death in between only
  // means that the store is told twice.
  absl::Status Deliver(absl::Duration patience) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (journal_->empty()) return absl::OkStatus();
    absl::Status status = Retry(patience, nullptr, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return store_->Append(journal_->pending(), journal_->checkpoint());
    });
    if (!status.ok()) return status;
    delivered_ = absl::Now();
    if (next_attempt_ != absl::InfinitePast()) {
      Notify(absl::StrCat("the store is back: ", journal_->pending().size(), " results stored"));
      next_attempt_ = absl::InfinitePast();
    }
    return journal_->Clear();
  }

  // Everything that waits is stored, or the error says that it still waits.
  absl::Status Settle() {
    absl::MutexLock lock(&mutex_);
    absl::Status status = Deliver(Patience());
    if (status.ok()) return status;
    return absl::Status(
        status.code(), absl::StrCat(std::string(status.message()), "; ", journal_->pending().size(),
                                    " results wait in ", journal_->path(),
                                    " and are stored when the run is resumed"));
  }

  template <typename T>
  absl::StatusOr<T> Ask(absl::FunctionRef<absl::StatusOr<T>()> ask) {
    if (absl::Status status = Settle(); !status.ok()) return status;
    absl::StatusOr<T> answer = absl::UnknownError("not asked");
    const absl::Status status = Retry(Patience(), options_.notify, [&] {
      answer = ask();
      return answer.status();
    });
    return answer;
  }

  std::unique_ptr<RecordStore> store_;
  const JournalOptions options_;
  absl::Mutex mutex_;
  std::unique_ptr<RecordJournal> journal_ ABSL_GUARDED_BY(mutex_);
  // When the store is asked again; in the infinite past while it answers.
  absl::Time next_attempt_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Duration pause_ ABSL_GUARDED_BY(mutex_);
  absl::Time delivered_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace

absl::StatusOr<std::unique_ptr<RecordStore>> OpenJournaledStore(std::unique_ptr<RecordStore> store,
                                                                JournalOptions options) {
  absl::StatusOr<std::unique_ptr<RecordJournal>> journal = RecordJournal::Open(options.path);
  if (!journal.ok()) return journal.status();
  if (const int64_t count = (*journal)->set_aside(); count > 0 && options.notify) {
    options.notify(absl::StrCat(
        options.path, ": ", count, count == 1 ? " damaged result is" : " damaged results are",
        " set aside in ", (*journal)->SetAsidePath(), "; what the run needs is measured again"));
  }
  return std::make_unique<JournaledStore>(std::move(store), *std::move(journal),
                                          std::move(options));
}

}  // namespace autotune
