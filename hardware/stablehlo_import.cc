#include "hardware/stablehlo_import.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hardware/aot_backend.h"
#include "hardware/aot_compiler.h"
#include "hardware/device_spec.h"
#include "hardware/pjrt_discovery.h"
#include "hardware/pjrt_plugin.h"
#include "hardware/scratch_folder.h"
#include "hardware/worker_process.h"
#include "hlo/read_module.h"
#include "proto/worker.pb.h"

namespace autotune {
namespace {

// The generation to compile for: what is read back does not depend on it.
constexpr absl::string_view kDevice = "tpu-v5e";

// Compiles for one device and has the compiler write its input, as a protobuf: its text would leave
// out large constants.
std::string DumpingOptions(const std::string& folder) {
  return SingleDeviceCompileOptions({{"xla_dump_to", folder}, {"xla_dump_hlo_as_proto", true}});
}

// The program that the compiler wrote before its first pass; NotFound if there is none.
absl::StatusOr<std::unique_ptr<HloModule>> ReadDump(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (!absl::StrContains(name, "before_optimizations") || !absl::EndsWith(name, ".pb")) continue;
    absl::StatusOr<ReadModuleResult> read =
        ReadModuleFile(entry.path(), {.format = HloFormat::kHloProto, .keep_unknown = true});
    if (!read.ok()) return read.status();
    return std::move(read->module);
  }
  return absl::NotFoundError("the compiler wrote no program");
}

absl::Status StatusOf(const Failure& failure) {
  const std::string message = absl::StrCat("importing StableHLO: ", failure.message);
  switch (failure.kind) {
    case FailureKind::kTimeout:
      return absl::DeadlineExceededError(message);
    case FailureKind::kOutOfMemory:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::UnavailableError(message);
  }
}

proto::WorkerRequest CompileRequest(const std::string& code, const StableHloImporter& importer,
                                    const std::string& folder) {
  proto::WorkerRequest request;
  const auto fill = [&](auto* compile) {
    compile->set_plugin(importer.plugin);
    compile->set_program(code);
    compile->set_format("mlir");
    compile->set_compile_options(DumpingOptions(folder));
  };
  if (importer.topology.empty()) {
    fill(request.mutable_device_compile());
  } else {
    fill(request.mutable_aot_compile());
    request.mutable_aot_compile()->set_topology(importer.topology);
  }
  return request;
}

// Compiles in a worker. What is wrong with the code, or with the process, or OK.
absl::Status CompileInWorker(const std::string& code, const StableHloImporter& importer,
                             const ScratchFolder& scratch) {
  WorkerOptions options;
  options.program = importer.worker;
  options.environment = LibtpuEnvironment(scratch);
  absl::StatusOr<std::unique_ptr<WorkerProcess>> worker = WorkerProcess::Start(options);
  if (!worker.ok()) return worker.status();
  const proto::WorkerRequest request = CompileRequest(code, importer, scratch.work());
  const std::variant<std::string, Failure> answer =
      (*worker)->Call(request.SerializeAsString(), importer.timeout);
  if (const Failure* failure = std::get_if<Failure>(&answer)) return StatusOf(*failure);
  proto::WorkerReply reply;
  if (!reply.ParseFromString(std::get<std::string>(answer))) {
    return absl::DataLossError("a worker's reply cannot be read");
  }
  if (reply.status_code() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the compiler does not take this StableHLO: ", reply.status_message()));
}

}  // namespace

absl::StatusOr<std::vector<StableHloImporter>> FindStableHloImporters() {
  if (!HasPjrtSupport()) {
    return absl::UnimplementedError("this program was built without PJRT: ./autotune --with aot");
  }
  absl::StatusOr<std::string> worker = FindWorkerProgram();
  if (!worker.ok()) return worker.status();
  std::vector<StableHloImporter> importers;
  const absl::StatusOr<std::string> libtpu = FindLibtpu();
  if (libtpu.ok()) {
    const absl::StatusOr<DeviceSpec> device = FindDeviceSpec(kDevice);
    if (!device.ok()) return device.status();
    absl::StatusOr<std::string> topology = AotTopology(*device);
    if (!topology.ok()) return topology.status();
    importers.push_back({.plugin = *libtpu, .worker = *worker, .topology = *std::move(topology)});
  }
  const absl::StatusOr<std::string> cpu = FindCpuPlugin();
  if (cpu.ok()) importers.push_back({.plugin = *cpu, .worker = *worker, .topology = ""});
  if (importers.empty()) return libtpu.status();
  return importers;
}

absl::StatusOr<std::unique_ptr<HloModule>> ImportStableHlo(const std::string& code,
                                                           const StableHloImporter& importer) {
  absl::StatusOr<std::unique_ptr<ScratchFolder>> scratch = ScratchFolder::Create("import");
  if (!scratch.ok()) return scratch.status();
  const absl::Status compiled = CompileInWorker(code, importer, **scratch);
  absl::StatusOr<std::unique_ptr<HloModule>> module = ReadDump((*scratch)->work());
  if (module.ok() || compiled.ok()) return module;
  return compiled;
}

absl::StatusOr<std::unique_ptr<HloModule>> ImportStableHlo(const std::string& code) {
  const absl::StatusOr<std::vector<StableHloImporter>> importers = FindStableHloImporters();
  if (!importers.ok()) return importers.status();
  absl::StatusOr<std::unique_ptr<HloModule>> module = absl::NotFoundError("");
  for (const StableHloImporter& importer : *importers) {
    module = ImportStableHlo(code, importer);
    if (module.status().code() != absl::StatusCode::kUnavailable) break;
  }
  return module;
}

}  // namespace autotune
