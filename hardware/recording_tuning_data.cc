// Reading TpuGraphs' recordings. The outer two levels (file, module) are walked by hand, so that
// errors name the record and the byte; what is inside them protobuf parses.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hardware/possible_time.h"
#include "hardware/recording_forms.h"
#include "hlo/module.h"
#include "hlo/proto_bytes.h"
#include "hlo/verifier.h"
#include "hlo/wire_scanner.h"
#include "proto/tuning_data.pb.h"

namespace autotune {
namespace {

using proto::ModuleTuningData;
using proto::TuningData;

// The device of the TpuGraphs data set (Phothilimthana et al., NeurIPS 2023, section 3); its files
// do not name one.
constexpr char kTpuGraphsDevice[] = "tpu-v3";

// One ModuleTuningData in wire form.
struct ModuleBytes {
  absl::string_view bytes;
  size_t offset = 0;
};

absl::Status InRecord(const std::string& name, size_t record, size_t byte,
                      absl::string_view message) {
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": module record ", record, " at byte ", byte, ": ", message));
}

absl::Status NoRecording(const std::string& name, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(name,
                   ": no recording: neither the project's own form nor a TpuGraphs TuningData or "
                   "ModuleTuningData message (",
                   why, ")"));
}

size_t PayloadOffset(const WireField& field, absl::string_view whole) {
  return static_cast<size_t>(field.payload.data() - whole.data());
}

// The modules of a TuningData; or the whole file as one ModuleTuningData, which is told by its
// fields: TuningData has the one field `modules`.
absl::StatusOr<std::vector<ModuleBytes>> SplitModules(absl::string_view bytes) {
  std::vector<ModuleBytes> modules;
  WireScanner scanner(bytes);
  WireField field;
  for (;;) {
    const absl::StatusOr<bool> more = scanner.Next(&field);
    if (!more.ok()) return more.status();
    if (!*more) return modules;
    const bool is_module = field.number == TuningData::kModulesFieldNumber && field.wire_type == 2;
    if (!is_module) return std::vector<ModuleBytes>{{bytes, 0}};
    modules.push_back({field.payload, PayloadOffset(field, bytes)});
  }
}

// The configuration of run number `position`, opaque if its content was not recorded.
absl::StatusOr<Config> ConfigOfRun(const proto::ConfigProfile& run, int64_t position) {
  if (run.has_module_config()) {
    absl::StatusOr<LayoutConfig> layout = LayoutFromProto(run.module_config().layout_config());
    if (!layout.ok()) return layout.status();
    if (!layout->nodes.empty()) return Config(*std::move(layout));
  } else if (run.has_op_config()) {
    absl::StatusOr<TileBounds> bounds = TileBoundsFromProto(run.op_config().tile_size_config());
    if (!bounds.ok()) return bounds.status();
    if (!bounds->IsEmpty()) return Config(*std::move(bounds));
  }
  return Config(OpaqueConfig{position});
}

absl::StatusOr<RecordedConfig> ReadRun(const proto::ConfigProfile& run, int64_t position) {
  absl::StatusOr<Config> config = ConfigOfRun(run, position);
  if (!config.ok()) return config.status();
  RecordedConfig recorded{*std::move(config)};
  recorded.is_default = run.is_default();
  const int64_t nanoseconds = run.profile().compute_time_ns();
  if (run.error()) {
    recorded.failures.push_back(
        {FailureKind::kRecordedFailure, "the recording marks this run as failed"});
  } else if (nanoseconds <= 0 || !IsPossibleTime(static_cast<double>(nanoseconds) / 1e9)) {
    recorded.failures.push_back(
        {FailureKind::kRecordedFailure, "the recording holds no time for this run"});
  } else {
    recorded.seconds.push_back(static_cast<double>(nanoseconds) / 1e9);
  }
  return recorded;
}

// Reads one module record; messages of the returned errors lack file, record and byte.
class ModuleReader {
 public:
  explicit ModuleReader(const ModuleBytes& module) : module_(module) {}

  // Splits the record into its parts. Must come first.
  absl::Status Scan() {
    WireScanner scanner(module_.bytes, module_.offset);
    WireField field;
    for (;;) {
      const absl::StatusOr<bool> more = scanner.Next(&field);
      if (!more.ok()) return more.status();
      if (!*more) return absl::OkStatus();
      const bool message = field.wire_type == 2;
      if (field.number == ModuleTuningData::kModuleFieldNumber && message) {
        module_bytes_ = field.payload;
      } else if (field.number == ModuleTuningData::kRunsFieldNumber && message) {
        runs_.push_back(field);
      } else if (field.number == ModuleTuningData::kConfigIndexToNodeFieldNumber) {
        if (absl::Status status = ReadNodeIds(field); !status.ok()) return status;
      }
    }
  }

  size_t run_count() const { return runs_.size(); }
  const std::vector<int64_t>& node_ids() const { return node_ids_; }

  absl::StatusOr<Kernel> ReadKernel() const {
    proto::HloModuleProto proto;
    if (absl::Status status = ParseProtoBytes(module_bytes_, &proto); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("its HLO module ", status.message()));
    }
    if (proto.computations().empty()) return absl::InvalidArgumentError("it holds no HLO module");
    return KernelOfRecordedModule(proto);
  }

  absl::StatusOr<RecordedConfig> ReadRunAt(size_t i) const {
    proto::ConfigProfile run;
    if (absl::Status status = ParseProtoBytes(runs_[i].payload, &run); !status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("run ", i, " at byte ", runs_[i].offset, " ", status.message()));
    }
    absl::StatusOr<RecordedConfig> recorded = ReadRun(run, static_cast<int64_t>(i));
    if (recorded.ok()) return recorded;
    return absl::InvalidArgumentError(
        absl::StrCat("run ", i, " at byte ", runs_[i].offset, ": ", recorded.status().message()));
  }

 private:
  // The field is packed, or comes once per number.
  absl::Status ReadNodeIds(const WireField& field) {
    ModuleTuningData message;
    if (field.wire_type == 0) {
      node_ids_.push_back(static_cast<int64_t>(field.varint));
      return absl::OkStatus();
    }
    const size_t header = static_cast<size_t>(field.payload.data() - module_.bytes.data()) -
                          (field.offset - module_.offset);
    const absl::string_view whole(field.payload.data() - header, field.payload.size() + header);
    if (absl::Status status = ParseProtoBytes(whole, &message); !status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("config_index_to_node at byte ", field.offset, " ", status.message()));
    }
    node_ids_.insert(node_ids_.end(), message.config_index_to_node().begin(),
                     message.config_index_to_node().end());
    return absl::OkStatus();
  }

  ModuleBytes module_;
  absl::string_view module_bytes_;
  std::vector<WireField> runs_;
  std::vector<int64_t> node_ids_;
};

// What the compiler chose, where the module itself does not tell but a default is marked.
void FillCompilerChoice(const std::vector<RecordedConfig>& runs, Kernel* kernel) {
  if (kernel->compiler_choice.has_value()) return;
  for (const RecordedConfig& run : runs) {
    if (!run.is_default || run.config.tile() == nullptr) continue;
    kernel->compiler_choice = CompilerChoice{*run.config.tile(), std::nullopt};
    return;
  }
}

absl::Status AddModule(const ModuleReader& reader, Recording* recording) {
  absl::StatusOr<Kernel> kernel = reader.ReadKernel();
  if (!kernel.ok()) return kernel.status();
  std::vector<RecordedConfig> runs;
  for (size_t i = 0; i < reader.run_count(); ++i) {
    absl::StatusOr<RecordedConfig> run = reader.ReadRunAt(i);
    if (!run.ok()) return run.status();
    runs.push_back(*std::move(run));
  }
  FillCompilerChoice(runs, &*kernel);
  // Through Merge, so that opaque runs of a kernel that comes twice stay apart.
  Recording part(recording->origin());
  RecordedKernel& recorded = part.FindOrAdd(*kernel);
  recorded.set_layout_node_ids(reader.node_ids());
  for (RecordedConfig& run : runs) recorded.Add(std::move(run));
  return recording->Merge(part);
}

}  // namespace

absl::StatusOr<Kernel> KernelOfRecordedModule(const proto::HloModuleProto& proto) {
  absl::StatusOr<std::unique_ptr<HloModule>> built = HloModule::FromProto(proto);
  if (!built.ok()) return built.status();
  const std::shared_ptr<const HloModule> module = *std::move(built);
  if (absl::Status status = VerifyStatus(*module, ""); !status.ok()) return status;
  absl::StatusOr<Kernel> kernel = KernelFromModule(module);
  if (kernel.ok()) return kernel;
  Kernel program;
  program.name = std::string(module->name());
  program.kind = "program";
  program.fingerprint = KernelFingerprint(*module);
  program.module = module;
  return program;
}

bool IsTuningData(absl::string_view bytes) {
  const absl::StatusOr<std::vector<ModuleBytes>> modules = SplitModules(bytes);
  if (!modules.ok()) return false;
  for (const ModuleBytes& module : *modules) {
    ModuleReader reader(module);
    if (!reader.Scan().ok() || reader.run_count() == 0) continue;
    // A HloProto has other messages in the place of the runs: its buffer assignment.
    return reader.ReadRunAt(0).ok() && reader.ReadKernel().ok();
  }
  return false;
}

absl::StatusOr<Recording> ReadTuningData(absl::string_view bytes, const std::string& name) {
  const absl::StatusOr<std::vector<ModuleBytes>> modules = SplitModules(bytes);
  if (!modules.ok()) return NoRecording(name, modules.status().message());
  Recording recording({kTpuGraphsDevice, "tpugraphs", "", TimeSource::kHardware});
  size_t runs = 0;
  for (size_t i = 0; i < modules->size(); ++i) {
    ModuleReader reader((*modules)[i]);
    absl::Status status = reader.Scan();
    if (status.ok()) status = AddModule(reader, &recording);
    if (!status.ok()) return InRecord(name, i, (*modules)[i].offset, status.message());
    runs += reader.run_count();
  }
  if (runs == 0) return NoRecording(name, "it holds no runs");
  return recording;
}

}  // namespace autotune
