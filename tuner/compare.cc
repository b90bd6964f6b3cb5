#include "tuner/compare.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "tbb/blocked_range.h"
#include "tbb/parallel_for.h"
#include "tbb/task_arena.h"
#include "tuner/compare_models.h"
#include "tuner/compare_run.h"
#include "tuner/models.h"

namespace autotune {
namespace {

// A kernel of the comparison with what its runs share.
struct Subject {
  Subject(const RecordedKernel& recorded, int64_t executions, TimeSource source,
          const SimulatedClock& clock)
      : kernel(recorded, source, clock), count(executions) {}

  // False where a model has nothing to rank: opaque configurations.
  bool RunsMethod(const SearchMethod& method) const {
    return method.model.empty() || !kernel.recorded().HasOpaqueConfigs();
  }

  ComparedKernel kernel;
  int64_t count;
  std::map<std::string, std::unique_ptr<TableScorer>> scorers;  // by model
  std::vector<KernelRuns> runs;                                 // one per method
};

// One run to be made.
struct Task {
  Subject* subject;
  size_t method;
  size_t seed;
  absl::Status status;
};

absl::Status Validate(absl::Span<const NamedModel> models, const ComparisonOptions& options) {
  if (options.methods.empty()) return absl::InvalidArgumentError("no method to compare is named");
  if (options.seeds < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a comparison needs at least 1 seed, not ", options.seeds));
  }
  if (options.max_evaluations && *options.max_evaluations < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a run needs at least 1 evaluation, not ", *options.max_evaluations));
  }
  if (!(options.clock.compile_seconds >= 0) || options.clock.repeats < 1) {
    return absl::InvalidArgumentError(
        "compile seconds must not be negative, and repeats at least 1");
  }
  for (const SearchMethod& method : options.methods) {
    const bool known = method.model.empty() ||
                       std::any_of(models.begin(), models.end(),
                                   [&](const auto& named) { return named.name == method.model; });
    if (!known) {
      return absl::InvalidArgumentError(
          absl::StrCat("no model '", method.model, "' for the method '", method.Name(), "'"));
    }
  }
  return absl::OkStatus();
}

// The seed of one run: SplitMix64's finaliser over seed and kernel, so that neither neighbouring
// seeds nor kernels share a course.
uint64_t RunSeed(uint64_t seed, uint64_t fingerprint) {
  uint64_t z = seed * 0x9E3779B97F4A7C15u + fingerprint;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// One comparison while it is made.
class Comparison {
 public:
  Comparison(const Recording& recording, absl::Span<const NamedModel> models,
             const ComparisonOptions& options)
      : recording_(recording), models_(models), options_(options) {}

  absl::StatusOr<ComparisonReport> Run(absl::Span<const Kernel> kernels) {
    const auto start = std::chrono::steady_clock::now();
    if (absl::Status status = AddSubjects(kernels); !status.ok()) return status;
    for (Subject& subject : subjects_) AddScorers(subject);
    if (absl::Status status = RunAll(); !status.ok()) return status;
    Describe();
    for (Subject& subject : subjects_) report_.kernels.push_back(KernelResult(subject));
    SummarizeAll();
    report_.wall_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(report_);
  }

 private:
  absl::Status AddSubjects(absl::Span<const Kernel> kernels) {
    std::vector<std::string> missing;
    for (const Kernel& kernel : kernels) {
      const RecordedKernel* recorded = recording_.Find(kernel.fingerprint);
      if (recorded == nullptr) {
        missing.push_back(kernel.name);
      } else if (recorded->Best() == nullptr) {
        report_.warnings.push_back(
            absl::StrCat(kernel.name, ": all of its recorded configurations failed"));
      } else {
        subjects_.emplace_back(*recorded, kernel.count, recording_.origin().source, options_.clock);
        names_.push_back(kernel.name);
      }
    }
    if (!missing.empty()) {
      report_.warnings.push_back(
          absl::StrCat("not in the recording, so not compared: ", absl::StrJoin(missing, ", ")));
    }
    return subjects_.empty() ? NothingRecorded(missing) : absl::OkStatus();
  }

  absl::Status NothingRecorded(const std::vector<std::string>& missing) const {
    std::vector<std::string> held;
    for (const RecordedKernel& kernel : recording_.kernels()) held.push_back(kernel.kernel().name);
    return absl::InvalidArgumentError(
        absl::StrCat("the recording has no time for any kernel of the program; looked for: ",
                     missing.empty() ? "(no kernel)" : absl::StrJoin(missing, ", "),
                     "; it holds: ", held.empty() ? "(no kernel)" : absl::StrJoin(held, ", ")));
  }

  void AddScorers(Subject& subject) {
    const RecordedKernel& recorded = subject.kernel.recorded();
    if (recorded.HasOpaqueConfigs()) return;
    for (const NamedModel& named : models_) {
      absl::StatusOr<std::unique_ptr<TableScorer>> scorer =
          TableScorer::Create(*named.model, recorded);
      if (!scorer.ok()) {
        report_.warnings.push_back(absl::StrCat("the model ", named.name, " cannot rank ",
                                                recorded.kernel().name, ": ",
                                                absl::string_view(scorer.status().message())));
        scorer = TableScorer::CreateBlind(recorded);
      }
      subject.scorers[named.name] = *std::move(scorer);
    }
  }

  absl::Status RunAll() {
    std::vector<Task> tasks;
    for (Subject& subject : subjects_) {
      for (size_t method = 0; method < options_.methods.size(); ++method) {
        subject.runs.push_back({.best_seconds = subject.kernel.best_seconds(),
                                .weight = static_cast<double>(subject.count)});
        if (!subject.RunsMethod(options_.methods[method])) continue;
        subject.runs.back().runs.resize(static_cast<size_t>(options_.seeds));
        for (size_t seed = 0; seed < static_cast<size_t>(options_.seeds); ++seed) {
          tasks.push_back({&subject, method, seed, absl::OkStatus()});
        }
      }
    }
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    // More threads than cores gain nothing, and TBB would complain about them.
    tbb::task_arena arena(options_.jobs > 0 ? std::min(options_.jobs, cores) : cores);
    arena.execute([&] {
      tbb::parallel_for(tbb::blocked_range<size_t>(0, tasks.size(), 1), [&](const auto& range) {
        for (size_t i = range.begin(); i < range.end(); ++i) RunTask(tasks[i], tasks.size());
      });
    });
    if (stopped_) return absl::CancelledError("the comparison was interrupted");
    for (const Task& task : tasks) {
      if (!task.status.ok()) return task.status;
    }
    return absl::OkStatus();
  }

  void RunTask(Task& task, size_t total) {
    if (stopped_) return;
    const SearchMethod& method = options_.methods[task.method];
    const auto scorer = task.subject->scorers.find(method.model);
    const uint64_t seed = RunSeed(options_.first_seed + task.seed,
                                  task.subject->kernel.recorded().kernel().fingerprint);
    const auto model = std::find_if(models_.begin(), models_.end(), [&](const NamedModel& named) {
      return named.name == method.model;
    });
    absl::StatusOr<SearchRun> run =
        RunSearch(task.subject->kernel, method,
                  scorer != task.subject->scorers.end() ? scorer->second.get() : nullptr,
                  {.with_default = options_.with_default,
                   .max_evaluations = options_.max_evaluations,
                   .exploration = options_.exploration,
                   .seed = seed,
                   .spread = SpreadOf(model == models_.end() ? nullptr : model->model,
                                      task.subject->kernel.recorded().kernel())});
    task.status = run.status();
    if (run.ok()) task.subject->runs[task.method].runs[task.seed] = *std::move(run);
    if (!options_.progress) return;
    absl::MutexLock lock(&progress_mutex_);
    if (!options_.progress(++done_, static_cast<int64_t>(total))) stopped_ = true;
  }

  KernelComparison KernelResult(const Subject& subject) {
    const RecordedKernel& recorded = subject.kernel.recorded();
    KernelComparison result = {.name = names_[report_.kernels.size()],
                               .kind = recorded.kernel().kind,
                               .count = subject.count,
                               .fingerprint = recorded.kernel().fingerprint,
                               .opaque = recorded.HasOpaqueConfigs(),
                               .configs = static_cast<int64_t>(recorded.configs().size())};
    result.failures = result.configs - recorded.ValidConfigs();
    result.best_seconds = subject.kernel.best_seconds();
    result.best_config = recorded.Best()->config.Key();
    if (const RecordedConfig* compiler_default = recorded.Default()) {
      result.default_seconds = compiler_default->MedianSeconds();
    }
    for (size_t method = 0; method < options_.methods.size(); ++method) {
      const KernelRuns* runs = &subject.runs[method];
      result.methods.push_back(runs->runs.empty() ? MethodResult{}
                                                  : Summarize({&runs, 1}, options_.points));
      result.methods.back().method = options_.methods[method].Name();
    }
    for (const NamedModel& named : models_) {
      const auto scorer = subject.scorers.find(named.name);
      if (scorer == subject.scorers.end()) continue;
      std::optional<ModelAccuracy> accuracy = AssessModel(named.name, named.model->unit(), recorded,
                                                          scorer->second->scores(), options_.top_k);
      if (accuracy) result.models.push_back(*std::move(accuracy));
    }
    return result;
  }

  void SummarizeAll() {
    for (size_t method = 0; method < options_.methods.size(); ++method) {
      std::vector<const KernelRuns*> kernels;
      for (const Subject& subject : subjects_) {
        if (!subject.kernel.recorded().HasOpaqueConfigs()) kernels.push_back(&subject.runs[method]);
      }
      report_.overall.push_back(kernels.empty() ? MethodResult{}
                                                : Summarize(kernels, options_.points));
      report_.overall.back().method = options_.methods[method].Name();
    }
    for (const NamedModel& named : models_) {
      report_.models.push_back(SummarizeModel(named.name, report_.kernels));
    }
    AddWarnings();
  }

  void AddWarnings() {
    std::vector<std::string> opaque, no_default;
    for (const KernelComparison& kernel : report_.kernels) {
      if (kernel.opaque) opaque.push_back(kernel.name);
      if (!kernel.default_seconds) no_default.push_back(kernel.name);
    }
    if (!opaque.empty()) {
      report_.warnings.push_back(
          absl::StrCat("recorded without the content of their configurations, so in no model "
                       "metric and no total: ",
                       absl::StrJoin(opaque, ", ")));
    }
    if (!no_default.empty()) {
      report_.warnings.push_back(absl::StrCat("no compiler's default with a time is recorded for: ",
                                              absl::StrJoin(no_default, ", ")));
    }
  }

  void Describe() {
    report_.autotune_version = AUTOTUNE_VERSION;
    report_.device = recording_.origin().device;
    report_.backend = recording_.origin().backend;
    report_.versions = recording_.origin().versions;
    report_.time_source = recording_.origin().source;
    for (const SearchMethod& method : options_.methods) report_.methods.push_back(method.Name());
    report_.seeds = options_.seeds;
    report_.first_seed = options_.first_seed;
    report_.with_default = options_.with_default;
    report_.max_evaluations = options_.max_evaluations;
    report_.compile_seconds = options_.clock.compile_seconds;
    report_.repeats = options_.clock.repeats;
  }

  const Recording& recording_;
  const absl::Span<const NamedModel> models_;
  const ComparisonOptions& options_;
  std::deque<Subject> subjects_;    // never moved: runs refer to them
  std::vector<std::string> names_;  // as the program calls them, one per subject
  ComparisonReport report_;

  std::atomic<bool> stopped_ = false;
  absl::Mutex progress_mutex_;
  int64_t done_ = 0;
};

}  // namespace

absl::StatusOr<ComparisonReport> RunComparison(absl::Span<const Kernel> kernels,
                                               const Recording& recording,
                                               absl::Span<const NamedModel> models,
                                               const ComparisonOptions& options) {
  if (absl::Status status = Validate(models, options); !status.ok()) return status;
  return Comparison(recording, models, options).Run(kernels);
}

}  // namespace autotune
