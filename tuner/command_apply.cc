#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hardware/aot_backend.h"
#include "hardware/atomic_file.h"
#include "hardware/device_spec.h"
#include "hardware/elided_constants.h"
#include "hardware/pjrt_backend.h"
#include "hardware/pjrt_discovery.h"
#include "hardware/scheduled_program.h"
#include "hlo/read_file.h"
#include "hlo/read_module.h"
#include "nlohmann/json.hpp"
#include "tuner/apply_program.h"
#include "tuner/apply_stablehlo.h"
#include "tuner/best_config.h"
#include "tuner/command_status.h"
#include "tuner/commands.h"
#include "tuner/printable.h"
#include "tuner/program.h"

namespace autotune {
namespace {

using nlohmann::json;

constexpr char kExamples[] = R"(
Examples:
  autotune apply step.hlo --config run/best.json --out step.tuned.hlo
  autotune apply step.opt.hlo --config run/best.json --out step.tuned.hlo     # tiles, TPU v2 and v3
  autotune apply step.opt.hlo --source step.hlo --config run/best.json --out step.tuned.hlo
  autotune apply step.pb --config run/best.json --out step.tuned.pb --to pb --validate

Cuts become an opt-barrier in the program before optimisation. Tiles need libtpu: it compiles the program
with its cuts, and they become the window_config of the kernels of what it made, a scheduled program that the
compiler emits as it stands (--form scheduled). With --form source they stand on the operations that kernels
are made around, before optimisation; the same is done where the compiler has placed arrays in VMEM
(v4 and later). The result is compiled: only what the compiler obeys is written. Ends with exit code 1
if nothing could be applied.)";

struct ApplyOptions {
  std::string program;
  std::string config;
  std::string out;
  std::string source;
  std::string to = "hlo";
  std::string form = "scheduled";
  std::string target;
  std::string serialize;
  std::string plugin;
  bool validate = false;
  bool allow_elided = false;
  bool json = false;
};

// Whether both paths lead to one file, there or not.
bool IsSameFile(const std::string& a, const std::string& b) {
  if (a.empty() || a == b) return a == b;
  std::error_code no_a, no_b;
  const std::filesystem::path whole_a = std::filesystem::weakly_canonical(a, no_a);
  const std::filesystem::path whole_b = std::filesystem::weakly_canonical(b, no_b);
  return !no_a && !no_b && whole_a == whole_b;
}

absl::StatusOr<BestConfig> LoadBest(const std::string& path) {
  absl::StatusOr<std::string> text = ReadWholeFile(path);
  if (!text.ok()) return WithExitCode(kExitBadInput, text.status());
  absl::StatusOr<BestConfig> best = BestConfig::Parse(*text, path);
  if (!best.ok()) return WithExitCode(kExitBadInput, best.status());
  return best;
}

// The file that the best configuration is written into.
const std::string& SourcePath(const ApplyOptions& options) {
  return options.source.empty() ? options.program : options.source;
}

// What the best configuration is written into, complete: the program before optimisation, or an
// optimised one that can be compiled a second time.
absl::StatusOr<std::shared_ptr<const HloModule>> LoadSource(const ApplyOptions& options,
                                                            const BestConfig& best) {
  const std::string& path = SourcePath(options);
  absl::StatusOr<Program> program = LoadProgram(path);
  if (!program.ok()) return program.status();
  const bool before_only = HasCuts(best) || options.form == "source" || options.to == "stablehlo";
  const bool fits = program->module != nullptr && (IsBeforeOptimisation(*program) ||
                                                   (TakesTiles(*program->module) && !before_only));
  if (!fits) {
    return BadInput(absl::StrCat(
        path,
        " is no program before optimisation: cuts need one, so do --form source and --to "
        "stablehlo, and so do tiles where the optimised program is not scheduled or holds "
        "arrays in VMEM; give it with --source FILE (in JAX: "
        "jax.jit(f).lower(*args).as_text(\"hlo\"))"));
  }
  const int64_t elided = program->module->elided_constant_count();
  if (elided == 0) return program->module;
  if (!options.allow_elided) {
    return WithExitCode(
        kExitBadInput,
        absl::FailedPreconditionError(absl::StrCat(
            path, ": the values of ", elided,
            " constants were left out (`{...}`) when the file was written; a program written from "
            "it would compute something else. Export it in full (a serialised HloModuleProto), or "
            "give --allow-elided for made-up values")));
  }
  proto::HloModuleProto filled = program->module->ToProto();
  FillElidedConstants(&filled, /*seed=*/1);
  absl::StatusOr<std::unique_ptr<HloModule>> complete = HloModule::FromProto(filled);
  if (!complete.ok()) return complete.status();
  return std::shared_ptr<const HloModule>(*std::move(complete));
}

// The TPU compiler; null where nothing has to be compiled.
absl::StatusOr<std::unique_ptr<AotBackend>> OpenCompiler(const ApplyOptions& options,
                                                         const HloModule& program,
                                                         const BestConfig& best) {
  if (!HasTilesToApply(program, best) && options.serialize.empty()) {
    return std::unique_ptr<AotBackend>();
  }
  AotBackendOptions aot;
  aot.target = options.target.empty() ? best.device : options.target;
  aot.timeout = absl::Minutes(30);  // whole programs
  const absl::StatusOr<DeviceSpec> device = FindDeviceSpec(aot.target);
  if (!device.ok()) return WithExitCode(kExitWrongUse, device.status());
  absl::Status fits = RequireCompiledFor(SourcePath(options), program, *device);
  if (!fits.ok()) return fits;
  absl::StatusOr<std::unique_ptr<AotBackend>> backend = AotBackend::Create(aot);
  if (!backend.ok()) {
    const bool use = absl::IsInvalidArgument(backend.status());
    return WithExitCode(use ? kExitWrongUse : kExitBroken, backend.status());
  }
  return backend;
}

// A device for running programs: --plugin, or a CPU plugin.
absl::StatusOr<std::unique_ptr<PjrtBackend>> OpenDevice(const ApplyOptions& options) {
  absl::StatusOr<std::string> plugin =
      options.plugin.empty() ? FindCpuPlugin() : absl::StatusOr<std::string>(options.plugin);
  if (!plugin.ok()) return WithExitCode(kExitBroken, plugin.status());
  absl::StatusOr<std::unique_ptr<PjrtBackend>> device = PjrtBackend::Create({.plugin = *plugin});
  if (!device.ok()) return WithExitCode(kExitBroken, device.status());
  return device;
}

// Devices other than TPUs do not know tiles.
absl::StatusOr<std::unique_ptr<HloModule>> WithoutTiles(const HloModule& program) {
  proto::HloModuleProto plain = program.ToProto();
  for (auto& computation : *plain.mutable_computations()) {
    for (auto& instruction : *computation.mutable_instructions()) {
      if (absl::StrContains(instruction.backend_config(), "\"window_config\"")) {
        instruction.clear_backend_config();
      }
    }
  }
  return HloModule::FromProto(plain);
}

// On a TPU what is written is run. Other devices know neither tiles nor the kernels of a scheduled
// program: they run the program before optimisation with its cuts.
absl::Status CompareOn(PjrtBackend& device, const AppliedProgram& applied,
                       const HloModule& original) {
  if (device.capabilities().tiles) return device.CompareResults(*applied.program, original);
  absl::StatusOr<std::unique_ptr<HloModule>> plain = WithoutTiles(*applied.source);
  if (!plain.ok()) return plain.status();
  return device.CompareResults(**plain, original);
}

// Says what gave the same results.
absl::StatusOr<std::string> Validate(const ApplyOptions& options, const AppliedProgram& applied,
                                     const HloModule& original) {
  absl::StatusOr<std::unique_ptr<PjrtBackend>> device = OpenDevice(options);
  if (!device.ok()) return device.status();
  const bool tiles = (*device)->capabilities().tiles;
  if (!tiles && original.is_scheduled()) {
    return WrongUse(
        "--validate cannot run an optimised program on a device that is no TPU: give --plugin of a "
        "TPU, or the program before optimisation with --source");
  }
  const absl::Status same = CompareOn(**device, applied, original);
  if (same.ok()) {
    return tiles ? "both programs give the same results"
                 : "before optimisation, with the cuts and without tiles, both programs give the "
                   "same results";
  }
  return WithExitCode(
      kExitBroken, absl::Status(same.code(), absl::StrCat("the tuned program gives other results, "
                                                          "or cannot be run: ",
                                                          std::string(same.message()))));
}

// The tuned program in the form of --to.
absl::StatusOr<std::string> Render(const ApplyOptions& options, const AppliedProgram& applied) {
  if (options.to == "stablehlo") return ToStableHlo(*applied.source);
  const HloFormat format = options.to == "pb" ? HloFormat::kModuleProto : HloFormat::kText;
  return WriteModule(*applied.program, format);
}

// Writes nothing unless everything that is asked for could be made. `compiler` may be null without
// --serialize.
absl::Status WriteOutputs(const ApplyOptions& options, const AppliedProgram& applied,
                          AotBackend* compiler) {
  const absl::StatusOr<std::string> program = Render(options, applied);
  if (!program.ok()) return program.status();
  if (options.serialize.empty()) return WriteFileAtomically(options.out, *program);
  const absl::StatusOr<std::string> executable = compiler->CompileToExecutable(*applied.program);
  if (!executable.ok()) return executable.status();
  absl::Status written = WriteFileAtomically(options.serialize, *executable);
  if (!written.ok()) return written;
  written = WriteFileAtomically(options.out, *program);
  if (written.ok()) return written;
  return absl::Status(written.code(), absl::StrCat(std::string(written.message()), "; ",
                                                   options.serialize, " was written before"));
}

const char* OutcomeName(ApplyOutcome outcome) {
  switch (outcome) {
    case ApplyOutcome::kApplied:
      return "applied";
    case ApplyOutcome::kDefault:
      return "default";
    case ApplyOutcome::kNotApplied:
      break;
  }
  return "not-applied";
}

const char* FormName(ApplyForm form) {
  return form == ApplyForm::kScheduled ? "scheduled" : "source";
}

bool HoldsTiles(const AppliedProgram& applied) {
  return std::any_of(applied.kernels.begin(), applied.kernels.end(),
                     [](const AppliedKernel& kernel) { return !kernel.instructions.empty(); });
}

// What the result as StableHLO lacks.
bool LosesTiles(const ApplyOptions& options, const AppliedProgram& applied) {
  return options.to == "stablehlo" && HoldsTiles(applied);
}

json ApplyJson(const ApplyOptions& options, const AppliedProgram& applied,
               const Capabilities& compiler) {
  json kernels = json::array();
  for (const AppliedKernel& kernel : applied.kernels) {
    kernels.push_back({{"name", kernel.kernel},
                       {"config", kernel.config},
                       {"outcome", OutcomeName(kernel.outcome)},
                       {"instructions", kernel.instructions},
                       {"detail", kernel.detail}});
  }
  return {{"schema", "autotune.apply/1"},
          {"out", options.out},
          {"device", compiler.device},
          {"compiler", compiler.versions},
          {"form", FormName(applied.form)},
          {"cuts", applied.cuts},
          {"tiles_in_output", !LosesTiles(options, applied)},
          {"validated", options.validate},
          {"kernels", kernels}};
}

// `compiler` is null where nothing was compiled, `validated` empty where nothing was run.
void Show(const ApplyOptions& options, const AppliedProgram& applied, const AotBackend* compiler,
          const std::string& validated, CommandContext& context) {
  const Capabilities none;
  const Capabilities& capabilities = compiler == nullptr ? none : compiler->capabilities();
  if (options.json) {
    context.out << DumpJson(ApplyJson(options, applied, capabilities)) << "\n";
    return;
  }
  for (const AppliedKernel& kernel : applied.kernels) {
    if (kernel.outcome == ApplyOutcome::kApplied) {
      context.out << "  "
                  << PrintableLine(absl::StrCat(kernel.kernel, ": ", kernel.config,
                                                kernel.instructions.empty() ? "" : " on ",
                                                absl::StrJoin(kernel.instructions, ", ")))
                  << "\n";
    }
    if (!kernel.detail.empty() && kernel.outcome != ApplyOutcome::kDefault) {
      context.out << "  " << PrintableLine(kernel.kernel)
                  << (kernel.outcome == ApplyOutcome::kApplied ? ": in part: " : ": NOT applied: ")
                  << PrintableText(kernel.detail) << "\n";
    }
  }
  context.out << PrintableLine(options.out) << ": " << applied.Count(ApplyOutcome::kApplied)
              << " kernels changed, " << applied.Count(ApplyOutcome::kDefault)
              << " stay as they are, " << applied.Count(ApplyOutcome::kNotApplied)
              << " could not be applied, " << applied.cuts << " cuts\n";
  if (compiler != nullptr && HoldsTiles(applied)) {
    context.out << "compiled for " << capabilities.device
                << ": the changed kernels have the chosen tiles"
                << (applied.form == ApplyForm::kScheduled && options.to != "stablehlo"
                        ? "; a scheduled program, which the compiler emits as it stands"
                        : "")
                << "\n";
  }
  if (LosesTiles(options, applied)) {
    context.out << "StableHLO has no place for tiles: " << options.out
                << " holds the cuts only; --to hlo or pb keeps the tiles\n";
  }
  if (!validated.empty()) context.out << "validated: " << validated << "\n";
}

absl::StatusOr<int> Apply(const ApplyOptions& options, CommandContext& context) {
  if (options.to != "hlo" && options.to != "pb" && options.to != "stablehlo") {
    return WrongUse(absl::StrCat("--to takes hlo, pb or stablehlo; got \"", options.to, "\""));
  }
  if (options.form != "scheduled" && options.form != "source") {
    return WrongUse(absl::StrCat("--form takes scheduled or source; got \"", options.form, "\""));
  }
  if (IsSameFile(options.serialize, options.out)) {
    return WrongUse(absl::StrCat("--serialize and --out are both ", options.out,
                                 ": the program and the executable take a file each"));
  }
  absl::StatusOr<BestConfig> best = LoadBest(options.config);
  if (!best.ok()) return best.status();
  absl::StatusOr<std::shared_ptr<const HloModule>> source = LoadSource(options, *best);
  if (!source.ok()) return source.status();
  absl::StatusOr<std::unique_ptr<AotBackend>> compiler = OpenCompiler(options, **source, *best);
  if (!compiler.ok()) return compiler.status();
  const ApplyForm form = options.form == "source" ? ApplyForm::kSource : ApplyForm::kScheduled;
  absl::StatusOr<AppliedProgram> applied = ApplyBest(**source, *best, compiler->get(), form);
  if (!applied.ok()) return WithExitCode(kExitBadInput, applied.status());
  absl::StatusOr<std::string> validated = "";
  if (options.validate) validated = Validate(options, *applied, **source);
  if (!validated.ok()) return validated.status();
  const absl::Status written = WriteOutputs(options, *applied, compiler->get());
  if (!written.ok()) return WithExitCode(kExitBroken, written);
  Show(options, *applied, compiler->get(), *validated, context);
  const bool nothing =
      applied->Count(ApplyOutcome::kApplied) == 0 && applied->Count(ApplyOutcome::kNotApplied) > 0;
  return nothing ? kExitNothingMeasured : kExitDone;
}

int RunApply(const ApplyOptions& options, CommandContext& context) {
  const absl::StatusOr<int> code = Apply(options, context);
  return code.ok() ? *code : context.Fail(code.status());
}

}  // namespace

void AddApplyCommand(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand("apply", "Write the tuned program");
  auto options = std::make_shared<ApplyOptions>();
  command->add_option("PROGRAM", options->program, "What was tuned: HLO text or protobuf")
      ->required();
  command->add_option("--config", options->config, "best.json of the run")->required();
  command->add_option("--out", options->out, "The tuned program")->required();
  command->add_option(
      "--source", options->source,
      "The program before optimisation, where PROGRAM is an optimised one and does not do");
  command->add_option("--to", options->to, "hlo, pb or stablehlo")->capture_default_str();
  command
      ->add_option("--form", options->form,
                   "Where tiles are written: scheduled (the optimised program) or source")
      ->capture_default_str();
  command->add_option("--target", options->target, "Generation [that of the run]");
  command->add_option("--serialize", options->serialize,
                      "Write the compiled executable to this file too");
  command->add_flag("--validate", options->validate,
                    "Run both programs on the same inputs and compare the results");
  command->add_option("--plugin", options->plugin,
                      "PJRT plugin that --validate runs on [a CPU plugin]");
  command->add_flag("--allow-elided", options->allow_elided,
                    "Make up values for constants whose values are missing");
  command->add_flag("--json", options->json, "One JSON document on standard output");
  command->footer(kExamples);
  command->callback([options, &context] { context.exit_code = RunApply(*options, context); });
}

}  // namespace autotune
