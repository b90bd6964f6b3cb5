#include "tuner/stored_run.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "hardware/atomic_file.h"
#include "hardware/device_spec.h"
#include "hardware/journaled_store.h"
#include "hardware/kernel_roofline.h"
#include "nlohmann/json.hpp"
#include "tuner/command_status.h"
#include "tuner/kernel_cost.h"
#include "tuner/program_set.h"
#include "tuner/program_sum.h"
#include "tuner/report_reader.h"
#include "tuner/run_file.h"
#include "tuner/run_log.h"
#include "tuner/select_best.h"
#include "tuner/shell_words.h"
#include "tuner/speedup_interval.h"
#include "tuner/tune_options.h"

namespace autotune {
namespace {

namespace fs = std::filesystem;

size_t KernelOf(const CandidateRecord& record, TuningReport& report) {
  for (size_t i = 0; i < report.kernels.size(); ++i) {
    if (report.kernels[i].fingerprint == record.kernel_fingerprint) return i;
  }
  KernelReport kernel;
  kernel.name = record.kernel_name;
  kernel.fingerprint = record.kernel_fingerprint;
  report.kernels.push_back(std::move(kernel));
  return report.kernels.size() - 1;
}

// What is known of a kernel so far, all results of one configuration as one.
struct KernelResults {
  std::map<std::string, size_t> positions;  // by the configuration's key
  std::vector<ConfigResult> results;
  std::optional<size_t> fastest;

  // Returns what is known of the configuration now.
  const ConfigResult& Add(const CandidateRecord& record) {
    const auto [it, added] = positions.emplace(record.config.Key(), results.size());
    const size_t at = it->second;
    if (added) {
      results.push_back({record.config, *record.measurement});
    } else {
      results[at].measurement = JoinMeasurements(results[at].measurement, *record.measurement);
    }
    if (!added && fastest == at) {  // it may have become slower than another
      fastest = std::nullopt;
      for (size_t i = 0; i < results.size(); ++i) Consider(i);
    } else {
      Consider(at);
    }
    return results[at];
  }

 private:
  void Consider(size_t i) {
    if (!results[i].measurement.ok()) return;
    if (!fastest ||
        results[i].measurement.MedianSeconds() < results[*fastest].measurement.MedianSeconds()) {
      fastest = i;
    }
  }
};

// The best of what a kernel has so far; the default wins ties.
void ChooseBest(const KernelResults& known, KernelReport& kernel) {
  if (!known.fastest) return;
  std::vector<ConfigResult> finalists = {known.results[*known.fastest]};
  std::vector<Measurement> measurements = {finalists[0].measurement};
  std::optional<size_t> preferred;
  if (kernel.compiler_default) {
    finalists.push_back(*kernel.compiler_default);
    measurements.push_back(kernel.compiler_default->measurement);
    preferred = 1;
  }
  kernel.best = finalists[*SelectBest(measurements, preferred)];
}

double BestSoFar(const TuningReport& report) {
  ProgramSum sum;
  for (const KernelReport& kernel : report.kernels) {
    sum.Add(kernel.count, SecondsOf(kernel.best), SecondsOf(kernel.compiler_default), std::nullopt);
  }
  return sum.seconds;
}

void AddTotals(TuningReport& report) {
  ProgramSum before, after;
  for (const KernelReport& kernel : report.kernels) {
    const std::optional<double> start = SecondsOf(kernel.compiler_default),
                                end = SecondsOf(kernel.best);
    before.Add(kernel.count, start, start, end);
    after.Add(kernel.count, end, start, end);
  }
  if (before.kernels > 0) report.totals.push_back({"default", before.seconds, before.kernels});
  if (after.kernels > 0) report.totals.push_back({"best found", after.seconds, after.kernels});
}

void TakeContext(const CandidateRecord& record, TuningReport& report) {
  report.device = record.context.device;
  report.backend = record.context.backend;
  report.versions = record.context.versions;
  report.time_source = record.context.source;
}

void TakeKernels(const std::vector<Kernel>& kernels, TuningReport& report) {
  const absl::StatusOr<DeviceSpec> device = FindDeviceSpec(report.device);
  for (const Kernel& kernel : kernels) {
    KernelReport one;
    one.name = kernel.name;
    one.kind = kernel.kind;
    one.count = kernel.count;
    one.fingerprint = kernel.fingerprint;
    if (device.ok()) {
      one.cost = CostOfKernel(kernel, *device);
      one.compiler_estimate_seconds = CompilerEstimateSeconds(kernel, *device);
    }
    report.kernels.push_back(std::move(one));
  }
}

// Candidate after candidate, as the run saw them.
void Replay(const std::vector<CandidateRecord>& candidates, TuningReport& report) {
  std::vector<KernelResults> results(report.kernels.size());
  for (const CandidateRecord& record : candidates) {
    const size_t index = KernelOf(record, report);
    results.resize(report.kernels.size());
    KernelReport& kernel = report.kernels[index];
    CandidateOutcome outcome = ToOutcome(record, index);
    if (record.fate == Fate::kMeasured) ++report.measurements, ++kernel.measurements;
    if (record.fate == Fate::kReused) ++kernel.reused;
    if (record.measurement) {
      const ConfigResult& now = results[index].Add(record);
      if (record.is_default ||
          (kernel.compiler_default && kernel.compiler_default->config == now.config)) {
        kernel.compiler_default = now;
      }
      ChooseBest(results[index], kernel);
    }
    outcome.measurements = report.measurements;
    outcome.wall_seconds =
        std::max(0.0, 1e-6 * static_cast<double>(record.unix_micros - report.started_unix_micros));
    report.wall_seconds = std::max(report.wall_seconds, outcome.wall_seconds);
    report.candidates.push_back(std::move(outcome));
    if (record.measurement) {
      report.progress.push_back(
          {report.measurements, report.candidates.back().wall_seconds, 0, BestSoFar(report)});
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    FailureCounter counter;
    for (const ConfigResult& result : results[i].results) counter.Add(result.measurement);
    report.kernels[i].failures = counter.Counts();
  }
}

// As TuningSession and Tuner tell it. "done" also stands for a run that got no time of any kernel.
void TakeOutcome(absl::string_view stored, TuningReport& report) {
  report.outcome = RunOutcomeFromName(stored).value_or(RunOutcome::kInterrupted);
  if (absl::ConsumePrefix(&stored, "failed: ")) {
    report.outcome = RunOutcome::kFailed;
    report.error = std::string(stored);
  }
  const bool timed =
      std::any_of(report.kernels.begin(), report.kernels.end(), [](const KernelReport& kernel) {
        return SecondsOf(kernel.best) || SecondsOf(kernel.compiler_default);
      });
  if (report.outcome == RunOutcome::kDone && !timed) report.outcome = RunOutcome::kNothingMeasured;
}

// ---- Files

bool IsMissingSqliteFile(const std::string& url) {
  absl::string_view path = url;
  std::error_code error;
  return absl::ConsumePrefix(&path, "sqlite:") && !fs::exists(std::string(path), error);
}

// The store, with what still waits in the journal of a killed run. That of a run under way is its
// own.
absl::StatusOr<std::unique_ptr<RecordStore>> OpenWithJournal(const std::string& url,
                                                             const std::string& folder,
                                                             std::vector<std::string>& warnings) {
  absl::StatusOr<std::unique_ptr<RecordStore>> store = RecordStore::Open(url);
  const std::string journal = absl::StrCat(folder, "/journal.jsonl");
  std::error_code error;
  if (!store.ok() || fs::file_size(journal, error) == 0 || error) return store;
  absl::StatusOr<std::unique_ptr<RecordStore>> both = OpenJournaledStore(
      *std::move(store),
      {.path = journal, .patience_seconds = 1, .notify = [&](const std::string& message) {
         warnings.push_back(message);
       }});
  return absl::IsFailedPrecondition(both.status()) ? RecordStore::Open(url) : std::move(both);
}

absl::StatusOr<RecordedRun> LoadRecords(const RunFile& file, const std::string& folder,
                                        const TuneOptions& options,
                                        std::vector<std::string>& warnings) {
  const std::string url = file.StoreUrl(folder);
  if (IsMissingSqliteFile(url)) {
    return absl::NotFoundError(absl::StrCat("the record store ", url, " is not there"));
  }
  absl::StatusOr<std::unique_ptr<RecordStore>> store = OpenWithJournal(url, folder, warnings);
  if (!store.ok()) return store.status();
  RecordedRun recorded;
  absl::StatusOr<RunRecord> run = (*store)->GetRun(file.run_id);
  if (absl::IsNotFound(run.status())) {
    return absl::NotFoundError(absl::StrCat("the run ", file.run_id, " in ", folder,
                                            " has recorded nothing and written no report.json"));
  }
  if (!run.ok()) return run.status();
  recorded.run = *std::move(run);
  absl::StatusOr<std::vector<CandidateRecord>> candidates = (*store)->RunCandidates(file.run_id);
  if (!candidates.ok()) return candidates.status();
  recorded.candidates = *std::move(candidates);
  // Without its program the report names what was measured, which is better than nothing.
  absl::StatusOr<ProgramSet> programs = LoadPrograms(ProgramsOf(options));
  if (programs.ok()) {
    recorded.kernels = std::move(programs->program.kernels);
    recorded.programs = std::move(programs->members);
  }
  return recorded;
}

absl::StatusOr<TuningReport> ReportOfRecords(const RunFile& file, const std::string& folder,
                                             const std::string& self) {
  TuneOptions options;
  absl::Status taken = TakeStoredOptions(file.options_json, {}, options);
  if (!taken.ok()) return taken;
  std::vector<std::string> warnings;
  absl::StatusOr<RecordedRun> recorded = LoadRecords(file, folder, options, warnings);
  if (!recorded.ok()) return recorded.status();
  TuningReport report = ReportFromRecords(*recorded);
  report.warnings = std::move(warnings);
  report.strategy = options.strategy;
  report.model = options.model;
  report.space = options.space;
  report.budget = options.budget;
  report.budget_seconds = options.budget_seconds;
  report.recordings = options.recordings;
  report.output_directory = folder;
  report.store = file.StoreUrl(folder);
  if (!ReadsStandardInput(options)) {  // which also writes a report that was lost
    report.commands.resume = ShellCommand({self, "--out", folder, "--resume"});
  }
  report.warnings.push_back(
      "this run has not written its report (it was killed, or is still under way): what is shown "
      "is what its records hold");
  if (recorded->kernels.empty()) {
    report.warnings.push_back(
        absl::StrCat(NameOfPrograms(ProgramsOf(options)),
                     " could not be read again: every kernel counts once in the totals"));
  }
  return report;
}

}  // namespace

TuningReport ReportFromRecords(const RecordedRun& recorded) {
  TuningReport report;
  report.run_id = recorded.run.id;
  report.autotune_version = AUTOTUNE_VERSION;
  report.program = recorded.run.program;
  report.seed = recorded.run.seed;
  report.started_unix_micros = recorded.run.started_unix_micros;
  if (!recorded.candidates.empty()) TakeContext(recorded.candidates.front(), report);
  TakeKernels(recorded.kernels, report);
  Replay(recorded.candidates, report);
  TakeOutcome(recorded.run.outcome, report);
  for (KernelReport& kernel : report.kernels) {
    if (!kernel.best && !kernel.compiler_default && kernel.failures.empty()) {
      kernel.not_tuned = "nothing recorded";
    }
    kernel.opaque = kernel.best && kernel.best->config.opaque() != nullptr;
    kernel.speedup_interval = KernelSpeedupInterval(kernel);
  }
  AddTotals(report);
  report.programs = recorded.programs;
  SumPrograms(report);
  report.speedup_interval = ProgramSpeedupInterval(report.kernels);
  return report;
}

absl::StatusOr<TuningReport> LoadStoredRun(const std::string& path, const std::string& self) {
  std::error_code error;
  const bool is_file = fs::is_regular_file(path, error);
  const std::string report_path = is_file ? path : absl::StrCat(path, "/report.json");
  absl::StatusOr<std::string> text = ReadWholeFile(report_path);
  if (is_file || (!text.ok() && !absl::IsNotFound(text.status()))) {
    if (!text.ok()) return WithExitCode(kExitBadInput, text.status());
    absl::StatusOr<TuningReport> report = ParseReport(*text, report_path);
    return report.ok() ? report : WithExitCode(kExitBadInput, report.status());
  }
  const absl::StatusOr<RunFile> run = RunFile::Load(path);
  if (text.ok()) {
    absl::StatusOr<TuningReport> report = ParseReport(*text, report_path);
    if (!report.ok()) return WithExitCode(kExitBadInput, report.status());
    if (!run.ok() || run->run_id == report->run_id) return report;
  }
  if (!run.ok()) {
    return WithExitCode(kExitBadInput,
                        absl::IsNotFound(run.status())
                            ? absl::NotFoundError(absl::StrCat(
                                  path, " holds no run: neither report.json nor run.json is there"))
                            : run.status());
  }
  absl::StatusOr<TuningReport> report = ReportOfRecords(*run, path, self);
  return report.ok() ? report : WithExitCode(kExitBadInput, report.status());
}

}  // namespace autotune
