#include "hardware/recording.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hardware/atomic_file.h"
#include "hardware/recording_forms.h"
#include "hlo/read_module.h"
#include "hlo/wire_scanner.h"
#include "proto/tuning_data.pb.h"

namespace autotune {
namespace {

// Both texts if they differ: "aot+pjrt".
std::string Joined(const std::string& a, const std::string& b) {
  if (a.empty() || a == b) return b;
  if (b.empty()) return a;
  return absl::StrCat(a, "+", b);
}

// Whether what could be a HloProto is a ModuleTuningData, perhaps damaged. Both have a module in
// field 1 and messages in field 3; only the latter has a fingerprint, or several of these messages.
bool HasFieldsOfTuningData(absl::string_view bytes) {
  using proto::ModuleTuningData;
  WireScanner scanner(bytes);
  WireField field;
  int messages = 0;
  for (;;) {
    const absl::StatusOr<bool> more = scanner.Next(&field);
    if (!more.ok() || !*more) return messages > 1;
    if (field.number == ModuleTuningData::kFingerprintFieldNumber && field.wire_type != 2) {
      return true;
    }
    if (field.number == ModuleTuningData::kRunsFieldNumber) ++messages;
  }
}

// The form of a program that was given where a recording belongs; nullopt if it is none.
std::optional<HloFormat> FormatOfProgram(absl::string_view bytes, const std::string& name) {
  const std::optional<HloFormat> format = DetectHloFormat(bytes);
  if (!format || *format == HloFormat::kText || *format == HloFormat::kStableHlo) return format;
  if (*format == HloFormat::kTuningData) return std::nullopt;
  if (*format == HloFormat::kHloProto && HasFieldsOfTuningData(bytes)) return std::nullopt;
  if (!ReadModule(std::string(bytes), name).ok()) return std::nullopt;
  return format;
}

// Opaque configurations are told apart by position alone, so one of another recording is never the
// one that has the same position here: it gets a free position.
void MakeDistinct(const RecordedKernel& kernel, RecordedConfig* recorded) {
  if (recorded->config.opaque() == nullptr) return;
  for (int64_t free = kernel.runs(); kernel.Find(recorded->config.Key()) != nullptr; ++free) {
    recorded->config = Config(OpaqueConfig{free});
  }
}

}  // namespace

Measurement RecordedConfig::ToMeasurement(TimeSource source) const {
  assert(!seconds.empty() || !failures.empty());
  Measurement measurement = seconds.empty()
                                ? Measurement::FromFailure(failures[0].kind, failures[0].message)
                                : Measurement::FromSamples(seconds, source);
  measurement.compile_seconds = compile_seconds;
  measurement.compiler_estimate_seconds = compiler_estimate_seconds;
  return measurement;
}

std::optional<double> RecordedConfig::MedianSeconds() const {
  if (seconds.empty()) return std::nullopt;
  return MedianOf(seconds);
}

const RecordedConfig* RecordedKernel::Find(absl::string_view config_key) const {
  const auto found = index_.find(config_key);
  return found == index_.end() ? nullptr : &configs_[found->second];
}

const RecordedConfig* RecordedKernel::Default() const {
  for (const RecordedConfig& config : configs_) {
    if (config.is_default) return &config;
  }
  return nullptr;
}

const RecordedConfig* RecordedKernel::Best() const {
  const RecordedConfig* best = nullptr;
  double best_seconds = 0;
  for (const RecordedConfig& config : configs_) {
    const std::optional<double> seconds = config.MedianSeconds();
    if (!seconds.has_value() || (best != nullptr && *seconds >= best_seconds)) continue;
    best = &config;
    best_seconds = *seconds;
  }
  return best;
}

bool RecordedKernel::HasOpaqueConfigs() const {
  return std::any_of(configs_.begin(), configs_.end(), [](const RecordedConfig& config) {
    return config.config.opaque() != nullptr;
  });
}

int64_t RecordedKernel::ValidConfigs() const {
  return std::count_if(configs_.begin(), configs_.end(),
                       [](const RecordedConfig& config) { return !config.seconds.empty(); });
}

void RecordedKernel::Add(RecordedConfig recorded) {
  assert(!recorded.seconds.empty() || !recorded.failures.empty());
  runs_ += static_cast<int64_t>(recorded.seconds.size() + recorded.failures.size());
  const auto [found, is_new] = index_.emplace(recorded.config.Key(), configs_.size());
  if (is_new) {
    configs_.push_back(std::move(recorded));
    return;
  }
  RecordedConfig& known = configs_[found->second];
  known.seconds.insert(known.seconds.end(), recorded.seconds.begin(), recorded.seconds.end());
  known.failures.insert(known.failures.end(), recorded.failures.begin(), recorded.failures.end());
  known.is_default |= recorded.is_default;
  if (!known.compile_seconds.has_value()) known.compile_seconds = recorded.compile_seconds;
  if (!known.compiler_estimate_seconds.has_value()) {
    known.compiler_estimate_seconds = recorded.compiler_estimate_seconds;
  }
}

absl::StatusOr<Recording> Recording::Load(const std::string& path) {
  const absl::StatusOr<std::string> bytes = ReadWholeFile(path);
  if (!bytes.ok()) return bytes.status();
  return Parse(*bytes, path);
}

absl::StatusOr<Recording> Recording::Parse(absl::string_view bytes, const std::string& name) {
  if (bytes.empty()) return absl::InvalidArgumentError(absl::StrCat(name, ": the file is empty"));
  std::string uncompressed;
  if (IsGzip(bytes)) {
    absl::StatusOr<std::string> result = Gunzip(bytes, name);
    if (!result.ok()) return result.status();
    uncompressed = *std::move(result);
    bytes = uncompressed;
  }
  if (IsOwnForm(bytes)) return ReadOwnForm(bytes, name);
  absl::StatusOr<Recording> recording = ReadTuningData(bytes, name);
  if (recording.ok()) return recording;
  const std::optional<HloFormat> program = FormatOfProgram(bytes, name);
  if (!program) return recording;
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": this is a program (", HloFormatName(*program),
                   "), not a recording of measurements; `autotune record` makes one of it"));
}

bool Recording::LooksLikeRecording(absl::string_view bytes) {
  return IsGzip(bytes) || IsOwnForm(bytes) || IsTuningData(bytes);
}

const RecordedKernel* Recording::Find(uint64_t fingerprint) const {
  const auto found = index_.find(fingerprint);
  return found == index_.end() ? nullptr : &kernels_[found->second];
}

RecordedKernel& Recording::FindOrAdd(const Kernel& kernel) {
  const auto [found, is_new] = index_.emplace(kernel.fingerprint, kernels_.size());
  if (is_new) kernels_.emplace_back(kernel);
  return kernels_[found->second];
}

absl::Status Recording::Merge(const Recording& other) {
  const RecordingOrigin& theirs = other.origin_;
  if (origin_.device != theirs.device || origin_.source != theirs.source) {
    return absl::FailedPreconditionError(absl::StrCat(
        "recordings do not mix: ", TimeSourceName(origin_.source), " times of ", origin_.device,
        " and ", TimeSourceName(theirs.source), " times of ", theirs.device));
  }
  origin_.backend = Joined(origin_.backend, theirs.backend);
  origin_.versions = Joined(origin_.versions, theirs.versions);
  for (const RecordedKernel& kernel : other.kernels_) {
    RecordedKernel& mine = FindOrAdd(kernel.kernel());
    if (mine.layout_node_ids().empty()) mine.set_layout_node_ids(kernel.layout_node_ids());
    for (RecordedConfig config : kernel.configs()) {
      MakeDistinct(mine, &config);
      mine.Add(std::move(config));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Recording::Serialize() const {
  absl::StatusOr<std::string> bytes = WriteOwnForm(*this);
  if (!bytes.ok()) return bytes.status();
  return Gzip(*bytes);
}

absl::Status Recording::Save(const std::string& path) const {
  const absl::StatusOr<std::string> bytes = Serialize();
  if (!bytes.ok()) return bytes.status();
  return WriteFileAtomically(path, *bytes);
}

}  // namespace autotune
