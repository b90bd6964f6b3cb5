#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "hardware/aot_backend.h"
#include "hardware/aot_record.h"
#include "hardware/device_spec.h"
#include "hardware/recording.h"
#include "hardware/sweep_coverage.h"
#include "hardware/sweep_shard.h"
#include "tuner/command_status.h"
#include "tuner/commands.h"
#include "tuner/fusion_record.h"
#include "tuner/interrupt.h"
#include "tuner/number_options.h"
#include "tuner/printable.h"
#include "tuner/program.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

// Their number grows with the power.
constexpr NumberRange<int64_t> kCutsRange = {0, 3};

constexpr char kExamples[] = R"(
Examples:
  autotune record program.hlo --backend aot --target v3 --out program_v3.rec --sample 20
  autotune record a.hlo b.hlo --backend aot --target v5e --out both.rec
  autotune record before.hlo --space fusion --target v3 --out fusions_v3.jsonl.gz --sample 200

Goes on where an earlier call with the same --out stopped. With several programs each has a shard of
its own (OUT.1, OUT.2, ...), which are joined at the end.)";

struct RecordOptions {
  std::vector<std::string> programs;
  std::string backend = "aot";
  std::string target;  // empty: see AssumeTarget
  std::string space = "tile";
  std::string out;
  std::optional<int64_t> cuts;
  std::optional<int64_t> sample;
  uint64_t seed = 1;
  double timeout_seconds = 120;
  int64_t jobs = 0;
  bool quiet = false;
};

// Shows how far a sweep is, now and then: a line that is drawn again on a terminal.
class SweepDisplay {
 public:
  SweepDisplay(const CommandContext& context, const Capabilities& capabilities, bool quiet)
      : context_(context),
        what_(
            absl::StrCat(TimeSourceName(capabilities.time_source), "s for ", capabilities.device)),
        quiet_(quiet) {}

  // False once the user wants to stop.
  bool Show(const SweepProgress& progress) {
    const absl::Duration pause = absl::Seconds(context_.err_is_terminal ? 0.2 : 10);
    if (!quiet_ && absl::Now() - shown_ >= pause) {
      shown_ = absl::Now();
      context_.err << (context_.err_is_terminal ? "\r\033[K" : "") << what_ << ": "
                   << FormatCount(progress.configs_done) << " of " << FormatCount(progress.configs)
                   << " configurations, " << progress.kernels_done << " of " << progress.kernels
                   << " kernels, " << progress.failures << " failures; "
                   << PrintableLine(progress.kernel) << (context_.err_is_terminal ? "" : "\n")
                   << std::flush;
    }
    return !InterruptRequested();
  }
  void LeftOut(const Kernel& kernel, const Failure& failure) {
    Finish();
    context_.err << PrintableLine(kernel.name)
                 << " is left out: the tile that the compiler chose for it fails: "
                 << FailureKindName(failure.kind) << ": " << PrintableLine(failure.message) << "\n";
  }
  void Finish() {
    if (!quiet_ && context_.err_is_terminal) context_.err << "\r\033[K" << std::flush;
  }

 private:
  const CommandContext& context_;
  const std::string what_;  // "estimates for tpu-v3"
  const bool quiet_;
  absl::Time shown_ = absl::InfinitePast();
};

// The kernels of a program, and where in the source they come from.
absl::StatusOr<AotDefault> FindKernels(AotBackend& backend, Program& program) {
  AotDefault found;
  if (program.kernels.empty() && IsBeforeOptimisation(program)) {
    absl::StatusOr<AotDefault> compiled = backend.CompileProgram(*program.module);
    if (!compiled.ok()) return WithExitCode(kExitBadInput, compiled.status());
    found = *std::move(compiled);
    program.kernels = found.kernels;
  }
  if (absl::Status status = RequireKernels(program); !status.ok()) return status;
  found.kernels = program.kernels;
  return found;
}

// How much of the program the sweep speaks for.
void ShowCoverage(const std::string& path, const SweepCoverage& coverage, bool mapped,
                  CommandContext& context) {
  if (coverage.seconds <= 0) return;
  const auto share = [&](double seconds) {
    return absl::StrFormat("%.1f %%", 100 * seconds / coverage.seconds);
  };
  context.out << PrintableLine(path) << ": of the estimated time of " << coverage.kernels
              << " kernels, " << share(coverage.both_seconds);
  if (mapped) {
    context.out << " is in kernels that are mapped and faithful (mapped "
                << share(coverage.mapped_seconds) << ", faithful "
                << share(coverage.faithful_seconds) << "); the whole compiles in "
                << FormatSeconds(coverage.program_compile_seconds) << ", its kernels one by one in "
                << FormatSeconds(coverage.kernel_compile_seconds);
  } else {
    context.out << " is in kernels that are faithful";
  }
  context.out << "\n";
  if (coverage.disagreed > 0) {
    context.out << "  the compiler's own estimate differs by more than 20 % for "
                << coverage.disagreed << " of " << coverage.compared
                << " kernels as the compiler tiles them: only hardware settles which is right\n";
  }
}

// With the exit code of an --out that is something else, where it is.
absl::Status OutStatus(const absl::Status& status) {
  const bool input = absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status);
  return WithExitCode(input ? kExitBadInput : kExitBroken, status);
}

absl::Status RecordProgram(Program program, const std::string& shard_path,
                           const RecordOptions& options, AotBackend& backend,
                           CommandContext& context) {
  // Before anything is compiled: it may be that nothing can be written there.
  absl::StatusOr<std::unique_ptr<SweepShard>> shard =
      SweepShard::Open(shard_path, backend.capabilities());
  if (!shard.ok()) return OutStatus(shard.status());
  absl::StatusOr<AotDefault> found = FindKernels(backend, program);
  if (!found.ok()) return found.status();
  SweepDisplay display(context, backend.capabilities(), options.quiet);
  SweepOptions sweep;
  sweep.sample = options.sample;
  sweep.seed = options.seed;
  sweep.progress = [&display](const SweepProgress& progress) { return display.Show(progress); };
  sweep.left_out = [&display](const Kernel& kernel, const Failure& failure) {
    display.LeftOut(kernel, failure);
  };
  const int64_t vmem = backend.device().vmem_bytes;
  const TileLister tiles = [vmem](const Kernel& kernel, const SweepOptions& how) {
    return CanonicalTiles(kernel, vmem, how);
  };
  const absl::Status status = RecordSweep(backend, program.kernels, tiles, sweep, **shard);
  display.Finish();
  if (!status.ok() || InterruptRequested()) return status;
  const bool mapped = !found->sites.empty();
  ShowCoverage(program.path, CoverageOf(*found, (*shard)->recording(), backend.device()), mapped,
               context);
  return absl::OkStatus();
}

// The fusion configurations of one program.
absl::Status RecordFusion(const RecordOptions& options, CommandContext& context) {
  if (options.programs.size() != 1) {
    return WrongUse("--space fusion records one program at a time");
  }
  FusionRecordOptions fusion;
  fusion.program = options.programs.front();
  fusion.target = options.target.empty() ? kAssumedTarget : options.target;
  fusion.out = options.out;
  fusion.sample = options.sample.value_or(fusion.sample);
  fusion.cuts = options.cuts;
  fusion.seed = options.seed;
  fusion.timeout_seconds = options.timeout_seconds;
  fusion.quiet = options.quiet;
  return RecordFusionSweep(fusion, context);
}

// Of several programs the later ones are swept, and the recording is written, after hours: what is
// wrong with them is found out before.
absl::StatusOr<std::vector<Program>> LoadAll(const RecordOptions& options) {
  std::vector<Program> programs;
  for (const std::string& path : options.programs) {
    absl::StatusOr<Program> program = LoadProgram(path);
    if (!program.ok()) return program.status();
    programs.push_back(*std::move(program));
  }
  if (programs.size() == 1 || access(options.out.c_str(), F_OK) != 0) return programs;
  absl::Status out = OutStatus(Recording::Load(options.out).status());
  if (!out.ok()) return out;
  return programs;
}

absl::StatusOr<std::unique_ptr<AotBackend>> OpenCompiler(const RecordOptions& options,
                                                         const std::vector<Program>& programs) {
  AotBackendOptions aot;
  aot.target = options.target.empty() ? AssumeTarget(programs).device : options.target;
  aot.timeout = absl::Seconds(options.timeout_seconds);
  aot.jobs = static_cast<int>(options.jobs > 0 ? options.jobs
                                               : std::max(1u, std::thread::hardware_concurrency()));
  const absl::StatusOr<DeviceSpec> device = FindDeviceSpec(aot.target);
  if (!device.ok()) return WithExitCode(kExitWrongUse, device.status());
  for (const Program& program : programs) {
    if (absl::Status status = RequireCompiledFor(program, *device); !status.ok()) return status;
  }
  absl::StatusOr<std::unique_ptr<AotBackend>> backend = AotBackend::Create(aot);
  if (backend.ok()) return backend;
  const bool use = absl::IsInvalidArgument(backend.status());
  return WithExitCode(use ? kExitWrongUse : kExitBroken, backend.status());
}

absl::Status Record(const RecordOptions& options, CommandContext& context) {
  if (options.backend != "aot") {
    return WrongUse(absl::StrCat("--backend takes aot here; got \"", options.backend, "\""));
  }
  absl::StatusOr<std::vector<Program>> programs = LoadAll(options);
  if (!programs.ok()) return programs.status();
  absl::StatusOr<std::unique_ptr<AotBackend>> backend = OpenCompiler(options, *programs);
  if (!backend.ok()) return backend.status();
  std::vector<std::string> shards;
  for (size_t i = 0; i < programs->size(); ++i) {
    const bool single = programs->size() == 1;
    shards.push_back(single ? options.out : absl::StrCat(options.out, ".", i + 1));
    absl::Status status =
        RecordProgram(std::move((*programs)[i]), shards.back(), options, **backend, context);
    if (!status.ok()) return status;
    if (InterruptRequested()) return absl::OkStatus();
  }
  if (shards.size() == 1) return absl::OkStatus();
  absl::StatusOr<Recording> joined = JoinShards(shards);
  return joined.ok() ? joined->Save(options.out) : joined.status();
}

int RunRecordCommand(const RecordOptions& options, CommandContext& context) {
  InstallInterruptHandler();
  const bool fusion = options.space == "fusion";
  if (!fusion && (options.space != "tile" || options.cuts.has_value())) {
    return context.Fail(kExitWrongUse, options.space == "tile"
                                           ? "--cuts is for --space fusion"
                                           : "--space takes tile or fusion here");
  }
  const absl::Status status = fusion ? RecordFusion(options, context) : Record(options, context);
  if (!status.ok()) return context.Fail(status);
  if (InterruptRequested()) {
    context.err << "interrupted; the same command goes on where this one stopped\n";
    return kExitInterrupted;
  }
  if (fusion) return kExitDone;  // which said what it recorded
  absl::StatusOr<Recording> recording = Recording::Load(options.out);
  if (!recording.ok()) return context.Fail(recording.status());
  int64_t configs = 0;
  for (const RecordedKernel& kernel : recording->kernels()) {
    configs += static_cast<int64_t>(kernel.configs().size());
  }
  context.out << PrintableLine(options.out) << ": " << recording->kernels().size() << " kernels, "
              << FormatCount(configs) << " configurations on "
              << PrintableLine(recording->origin().device) << " ("
              << std::string(TimeSourceName(recording->origin().source)) << ")\n";
  return kExitDone;
}

}  // namespace

void AddRecordCommand(CLI::App& app, CommandContext& context) {
  CLI::App* command =
      app.add_subcommand("record", "Measure a sweep of configurations into a recording");
  auto options = std::make_shared<RecordOptions>();
  command->add_option("PROGRAM", options->programs, "HLO text or protobuf")->required();
  command->add_option("--backend", options->backend, "aot")->capture_default_str();
  command->add_option("--target", options->target,
                      "v2, v3, v4, v5e, v5p, v6e or v7x [v5e; v3 for a program optimised for v2 or "
                      "v3]");
  command
      ->add_option("--space", options->space,
                   "tile, or fusion: whole-program compilations under cuts of a program before "
                   "optimisation, see docs/fusion.md")
      ->capture_default_str();
  command->add_option("--out", options->out, "The recording")->required();
  AddNumber(*command, "--sample", options->sample, kCountRange,
            "Tiles of each kernel [all of them]; with --space fusion configurations of the program "
            "[200]");
  AddNumber(*command, "--cuts", options->cuts, kCutsRange,
            "With --space fusion: all configurations of at most so many cuts");
  AddNumber(*command, "--seed", options->seed, kSeedRange, "Of the sample")->capture_default_str();
  AddNumber(*command, "--timeout-seconds", options->timeout_seconds, kTimeoutRange,
            "A compilation that takes longer has failed; one of a whole program has 1800 at least")
      ->capture_default_str();
  AddNumber(*command, "--jobs", options->jobs, kJobsRange,
            "Compilations at a time [as many as cores]");
  command->add_flag("--quiet", options->quiet, "No progress");
  command->footer(kExamples);
  command->callback(
      [options, &context] { context.exit_code = RunRecordCommand(*options, context); });
}

}  // namespace autotune
