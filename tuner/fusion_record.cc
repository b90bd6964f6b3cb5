#include "tuner/fusion_record.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <ostream>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "hardware/atomic_file.h"
#include "hardware/fusion_compiler.h"
#include "hardware/fusion_foresight.h"
#include "hardware/fusion_recording.h"
#include "hardware/fusion_sweep.h"
#include "hardware/recording_forms.h"
#include "hlo/fusion_inline.h"
#include "tuner/command_status.h"
#include "tuner/interrupt.h"
#include "tuner/printable.h"
#include "tuner/program.h"

namespace autotune {
namespace {

// The file that grows. If only the compressed one is there, it is what the sweep goes on from.
absl::StatusOr<std::string> WorkingFile(const std::string& out) {
  if (!absl::EndsWith(out, ".gz")) return out;
  std::string path(absl::StripSuffix(out, ".gz"));
  std::error_code error;
  if (std::filesystem::exists(path, error) || !std::filesystem::exists(out, error)) return path;
  absl::StatusOr<std::string> bytes = ReadWholeFile(out);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<std::string> text = Gunzip(*bytes, out);
  if (!text.ok()) return text.status();
  if (absl::Status status = WriteFileAtomically(path, *text); !status.ok()) return status;
  return path;
}

absl::Status Compress(const std::string& from, const std::string& to) {
  if (from == to) return absl::OkStatus();
  absl::StatusOr<std::string> text = ReadWholeFile(from);
  if (!text.ok()) return text.status();
  if (absl::Status status = WriteFileAtomically(to, Gzip(*text)); !status.ok()) return status;
  std::error_code error;
  std::filesystem::remove(from, error);
  return absl::OkStatus();
}

// Hands out what a sweep compiles, one after the other.
class Sweep {
 public:
  Sweep(const FusionGraph& graph, const FusionRecordOptions& options)
      : graph_(graph), options_(options), foresight_(&graph) {
    if (options.cuts.has_value()) all_ = FewCuts(graph, static_cast<int>(*options.cuts));
  }

  // Nullopt at the end. `recording` may be null.
  std::optional<FusionDecision> Next(const FusionRecording* recording) {
    if (recording != nullptr) foresight_.Update(*recording);
    if (!options_.cuts.has_value()) {
      const int64_t done =
          recording == nullptr ? 0 : static_cast<int64_t>(recording->entries().size());
      if (done >= options_.sample) return std::nullopt;
      return NextToRecord(graph_, recording, foresight_, options_.sample / 2, options_.seed);
    }
    while (next_ < all_.size()) {
      const FusionDecision& decision = all_[next_++];
      if (!foresight_.Foresee(decision).has_value()) return decision;
      if (recording->Find(decision) == nullptr) ++foreseen_;
    }
    return std::nullopt;
  }

  int64_t foreseen() const { return foreseen_; }

 private:
  const FusionGraph& graph_;
  const FusionRecordOptions& options_;
  FusionForesight foresight_;
  std::vector<FusionDecision> all_;
  size_t next_ = 0;
  int64_t foreseen_ = 0;
};

void ShowEntry(const FusionRecording& recording, std::ostream& stream) {
  const FusionEntry& entry = recording.entries().back();
  stream << recording.entries().size() << ": " << entry.decision.Key() << "  "
         << (entry.failure.has_value()
                 ? std::string(FailureKindName(entry.failure->kind))
                 : absl::StrFormat("%.3f us, %d kernels, %.1f s", entry.total.schedule * 1e6,
                                   entry.kernels.size(), entry.compile_seconds))
         << std::endl;
}

void ShowRecording(const FusionRecording& recording, const std::string& path, int64_t foreseen,
                   std::ostream& stream) {
  std::set<std::string> groupings;
  const FusionEntry* best = nullptr;
  for (const FusionEntry& entry : recording.entries()) {
    if (entry.failure.has_value()) continue;
    groupings.insert(entry.key);
    if (best == nullptr || entry.total.schedule < best->total.schedule) best = &entry;
  }
  stream << PrintableText(absl::StrCat(
      path, ": ", recording.entries().size(), " compilations, ", groupings.size(), " groupings, ",
      recording.kernels().size(), " kernels for ", recording.origin().device, "; ", foreseen,
      " configurations left out because their grouping is known\n"));
  if (best == nullptr) return;
  const double base = recording.entries().front().total.schedule;
  stream << absl::StrFormat("default %.3f us, fastest %.3f us (%+.2f %%), estimates\n", base * 1e6,
                            best->total.schedule * 1e6, (best->total.schedule / base - 1) * 100);
}

absl::Status RunSweep(FusionCompiler& compiler, const FusionGraph& graph, const std::string& name,
                      const std::string& path, const FusionRecordOptions& options,
                      CommandContext& context) {
  Sweep sweep(graph, options);
  std::optional<FusionRecording> recording;
  if (absl::StatusOr<FusionRecording> loaded = FusionRecording::Load(path); loaded.ok()) {
    recording = *std::move(loaded);
    // A file of an earlier version.
    if (const FusionEntry* base = recording->Find({});
        base != nullptr && base->failure.has_value()) {
      return absl::FailedPreconditionError(absl::StrCat(
          path, " holds a program that did not compile as it is (", base->failure->message,
          "); remove it, and ", options.out, ", to try again"));
    }
  }
  while (!InterruptRequested()) {
    const std::optional<FusionDecision> next =
        sweep.Next(recording.has_value() ? &*recording : nullptr);
    if (!next.has_value()) break;
    absl::Status status = RecordFusions(compiler, graph, name, {*next}, path,
                                        [](const FusionRecording&) { return true; });
    if (!status.ok()) return status;
    absl::StatusOr<FusionRecording> written = FusionRecording::Load(path);
    if (!written.ok()) return written.status();
    recording = *std::move(written);
    if (!options.quiet) ShowEntry(*recording, context.err);
  }
  if (InterruptRequested() || !recording.has_value()) return absl::OkStatus();
  if (absl::Status status = Compress(path, options.out); !status.ok()) return status;
  ShowRecording(*recording, options.out, sweep.foreseen(), context.out);
  return absl::OkStatus();
}

}  // namespace

absl::Status RecordFusionSweep(const FusionRecordOptions& options, CommandContext& context) {
  absl::StatusOr<Program> program = LoadProgram(options.program);
  if (!program.ok()) return program.status();
  if (program->module == nullptr) {
    return BadInput(absl::StrCat(options.program, " is a recording; fusion needs a program"));
  }
  absl::StatusOr<FusionGraph> graph = InlinedFusionGraph(*program->module);
  if (!graph.ok()) return WithExitCode(kExitBadInput, graph.status());
  AotBackendOptions aot;
  aot.target = options.target;
  aot.timeout = absl::Seconds(options.timeout_seconds);
  absl::StatusOr<std::unique_ptr<FusionCompiler>> compiler = FusionCompiler::Create(aot);
  if (!compiler.ok()) {
    const bool use = absl::IsInvalidArgument(compiler.status());
    return WithExitCode(use ? kExitWrongUse : kExitBroken, compiler.status());
  }
  absl::StatusOr<std::string> path = WorkingFile(options.out);
  if (!path.ok()) return WithExitCode(kExitBroken, path.status());
  absl::Status status =
      RunSweep(**compiler, *graph, std::string(program->module->name()), *path, options, context);
  if (absl::IsFailedPrecondition(status)) return WithExitCode(kExitBadInput, status);
  return WithExitCode(kExitBroken, status);
}

}  // namespace autotune
