#include "hardware/sweep_shard.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hardware/compiler_version.h"

namespace autotune {
namespace {

// Results of a sweep belong to no run of the tuner.
constexpr char kRun[] = "sweep";

RecordedConfig ToRecorded(const Config& config, const Measurement& measurement, bool is_default) {
  RecordedConfig recorded{.config = config};
  recorded.is_default = is_default;
  recorded.compile_seconds = measurement.compile_seconds;
  recorded.compiler_estimate_seconds = measurement.compiler_estimate_seconds;
  if (measurement.ok()) {
    recorded.seconds.assign(measurement.samples().begin(), measurement.samples().end());
  } else {
    recorded.failures.push_back(measurement.failure());
  }
  return recorded;
}

absl::StatusOr<Recording> OpenRecording(const std::string& path, const Capabilities& capabilities) {
  RecordingOrigin origin{.device = capabilities.device,
                         .backend = capabilities.name,
                         .versions = capabilities.versions,
                         .source = capabilities.time_source};
  if (access(path.c_str(), F_OK) != 0) return Recording(std::move(origin));
  absl::StatusOr<Recording> recording = Recording::Load(path);
  if (absl::IsInvalidArgument(recording.status())) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is there, is no whole recording, and is not written over: ",
                     std::string(recording.status().message())));
  }
  if (!recording.ok()) return recording;
  const RecordingOrigin& theirs = recording->origin();
  if (theirs.device == origin.device && theirs.backend == origin.backend &&
      theirs.source == origin.source && MayBeSameCompiler(theirs.versions, origin.versions)) {
    return recording;
  }
  return absl::FailedPreconditionError(
      absl::StrCat(path, " was recorded with another device, backend or version (", theirs.device,
                   ", ", theirs.backend, ", ", theirs.versions, "): choose another file"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SweepShard>> SweepShard::Open(const std::string& path,
                                                             const Capabilities& capabilities) {
  absl::StatusOr<Recording> recording = OpenRecording(path, capabilities);
  if (!recording.ok()) return recording.status();
  absl::StatusOr<std::unique_ptr<RecordJournal>> journal =
      RecordJournal::Open(absl::StrCat(path, ".journal"));
  if (!journal.ok()) return journal.status();
  return std::unique_ptr<SweepShard>(
      new SweepShard(path, capabilities, *std::move(recording), *std::move(journal)));
}

SweepShard::SweepShard(std::string path, const Capabilities& capabilities, Recording recording,
                       std::unique_ptr<RecordJournal> journal)
    : path_(std::move(path)),
      context_{capabilities.device, capabilities.name, capabilities.versions, "",
               capabilities.time_source},
      recording_(std::move(recording)),
      journal_(std::move(journal)) {}

SweepShard::~SweepShard() {
  if (journal_->empty()) unlink(journal_->path().c_str());
}

absl::Status SweepShard::TakeWaiting(const std::vector<Kernel>& kernels) {
  if (journal_->empty()) return absl::OkStatus();
  for (const CandidateRecord& waiting : journal_->pending()) {
    if (!waiting.measurement.has_value() || waiting.context.device != context_.device ||
        !MayBeSameCompiler(waiting.context.versions, context_.versions)) {
      continue;
    }
    const auto kernel = std::find_if(kernels.begin(), kernels.end(), [&](const Kernel& k) {
      return k.fingerprint == waiting.kernel_fingerprint;
    });
    const RecordedKernel* known = recording_.Find(waiting.kernel_fingerprint);
    if (kernel == kernels.end() && known == nullptr) continue;
    // A kill between writing the file and emptying the journal leaves it in both.
    if (known != nullptr && known->Find(waiting.config.Key()) != nullptr) continue;
    recording_.FindOrAdd(kernel == kernels.end() ? Kernel(known->kernel()) : *kernel)
        .Add(ToRecorded(waiting.config, *waiting.measurement, waiting.is_default));
  }
  return Save();
}

absl::Status SweepShard::Keep(const Kernel& kernel, const Config& config, const Measurement& result,
                              bool is_default) {
  CandidateRecord record;
  record.run_id = kRun;
  record.sequence = kept_++;
  record.kernel_fingerprint = kernel.fingerprint;
  record.kernel_name = kernel.name;
  record.context = context_;
  record.config = config;
  record.fate = Fate::kMeasured;
  record.measurement = result;
  record.is_default = is_default;
  record.unix_micros = absl::ToUnixMicros(absl::Now());
  return journal_->Append({record});
}

void SweepShard::Add(const Kernel& kernel, const Config& config, const Measurement& result,
                     bool is_default) {
  recording_.FindOrAdd(kernel).Add(ToRecorded(config, result, is_default));
}

absl::Status SweepShard::Save() {
  if (absl::Status status = recording_.Save(path_); !status.ok()) return status;
  return journal_->Clear();
}

}  // namespace autotune
