#ifndef AUTOTUNE_TUNER_TUNING_SESSION_H_
#define AUTOTUNE_TUNER_TUNING_SESSION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tuner/budget.h"
#include "tuner/kernel_search.h"
#include "tuner/kernel_state.h"
#include "tuner/run_log.h"
#include "tuner/tuner.h"

namespace autotune {

// One run of the tuner, from its first look at the records to its last measurement. Internal to
// Tuner and to BuildReport. Not thread-safe.
class TuningSession {
 public:
  // Everything must outlive the session.
  TuningSession(TunerParts& parts, const TunerOptions& options, const TuningTask& task);

  // Runs to the end. A non-OK status means that the backend or the store broke; what was measured
  // before stays in the session.
  absl::Status Run();

  const std::vector<KernelState>& kernels() const { return kernels_; }
  const RunLog& log() const { return log_; }
  const Budget& budget() const { return budget_; }
  const TimeSplit& time() const { return time_; }
  const std::vector<ProgressPoint>& progress() const { return progress_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  bool interrupted() const { return interrupted_; }
  const CostModel* model() const { return model_; }
  double WallSeconds() const;

 private:
  // A candidate on its way to the backend.
  struct Pending {
    size_t kernel;
    RankedCandidate candidate;
    CandidateRole role;
  };

  absl::Status Prepare();
  absl::Status TakeReusedResults();
  absl::Status MeasureDefaults();
  // REQUIRES: the kernel lacks its default.
  Pending DefaultOf(size_t kernel) const;
  // Kernels whose own tile failed in a way that its other tiles share are not searched.
  absl::Status RuleOutHopeless();
  absl::Status Search();
  // Of a search that ended with budget left.
  void SayWhatIsAtTheRoofline();
  absl::Status Confirm();
  // The most candidates that are measured together.
  int64_t Round() const;
  // The candidates of one round, split over the kernels by what they promise.
  std::vector<Pending> NextRound();
  // Takes in what the interrupted run measured and this one will not ask for, `next` coming next.
  absl::Status TakeLeftBehind(const std::vector<Pending>& next);
  // Spends budget on as many of the batch as there is budget for, stores the results and only then
  // tells the kernels.
  absl::Status Measure(std::vector<Pending> batch);
  // The outcomes of a batch before anything is known of them, and those that the interrupted run
  // answers.
  std::vector<CandidateOutcome> Begin(const std::vector<Pending>& batch);
  // Has the backend measure those that are not answered. Where time is real, each result is stored
  // as soon as it is there: whenever the process dies, only what was under way is lost. On failure
  // the outcomes that came before it have their measurement.
  absl::Status AskBackend(std::vector<CandidateOutcome>& outcomes);
  // Takes the measured ones of a batch in: stores what is not stored, tells the kernels.
  absl::Status TakeIn(std::vector<CandidateOutcome> outcomes);
  // Charges the outcome's time; `wall_seconds` counts where time is real.
  void Charge(CandidateOutcome& outcome, double wall_seconds);
  void ChargeDevice(const Measurement& measurement, double wall_seconds);
  void TellKernels(const std::vector<CandidateOutcome>& outcomes);
  void Refit();
  void AddOtherSamples(std::vector<TrainingSample>& samples) const;
  // True if the model that guides the search may learn from what is measured.
  bool Learns() const { return model_ != nullptr && model_ == parts_.model.get() && refit_; }
  // Loads what the store knows of similar kernels, for a model that learns.
  absl::Status LoadOtherKernels();
  void ReportProgress();
  // Keeps what was proposed and never measured, with its rank.
  absl::Status RecordWaiting();
  // Whether finalists are measured again: not where that gives the same answer.
  bool Confirms() const;
  // Kernels whose best is not the default, by what it saves in the program, most first.
  std::vector<size_t> Finalists() const;
  // The model that results are compared with, where it is not the one that guides the search; else
  // null. What it says of each candidate is recorded too.
  const CostModel* SecondOpinion() const;
  // Kernels by what their default is predicted to take in the program, longest first.
  std::vector<size_t> ByPredictedTime();
  bool Stop();
  void Warn(std::string warning);

  TunerParts& parts_;
  const TunerOptions& options_;
  const TuningTask& task_;
  const CostModel* model_ = nullptr;  // what guides the search
  absl::Time start_;
  RunLog log_;
  Budget budget_;
  std::vector<KernelState> kernels_;
  TimeSplit time_;
  std::vector<ProgressPoint> progress_;
  std::vector<std::string> warnings_;
  // Device time of one measurement of the interrupted run, on average: the store keeps the sum.
  double resumed_seconds_ = 0;
  bool interrupted_ = false;
  bool refit_ = true;
  // Kernels of other programs that the model learns from too.
  std::vector<RunLog::OtherKernel> others_;
};

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_TUNING_SESSION_H_
