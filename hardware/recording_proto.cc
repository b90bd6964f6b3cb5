// Values of a recording as messages of proto/recording.proto and back.

#include <utility>

#include "absl/strings/str_cat.h"
#include "hardware/possible_time.h"
#include "hardware/recording_forms.h"
#include "hlo/module.h"

namespace autotune {
namespace {

template <typename Repeated>
absl::Status ReadBounds(const Repeated& values, absl::string_view which, WindowBounds* bounds) {
  for (const int64_t value : values) {
    if (value < 0) {
      return absl::InvalidArgumentError(absl::StrCat(which, " bound ", value, " is negative"));
    }
    bounds->push_back(value);
  }
  return absl::OkStatus();
}

void LayoutToProto(const LayoutConfig& layout, proto::LayoutConfig* message) {
  for (const auto& node : layout.nodes) {
    proto::NodeLayoutConfig& node_message = *message->add_nodes();
    for (const auto& tensor : node) {
      auto& dims = *node_message.add_tensors()->mutable_dims();
      dims.Add(tensor.begin(), tensor.end());
    }
  }
}

absl::StatusOr<FusionDecision> FusionFromProto(const proto::FusionConfig& message) {
  FusionDecision decision;
  for (const int64_t cut : message.cuts()) {
    if (cut < 0 || (!decision.cuts.empty() && cut <= decision.cuts.back())) {
      return absl::InvalidArgumentError("fusion cuts are not sorted and distinct");
    }
    decision.cuts.push_back(cut);
  }
  return decision;
}

absl::StatusOr<Config> ConfigFromProto(const proto::ConfigRecord& record) {
  const auto wrap = [](auto value) -> absl::StatusOr<Config> {
    if (!value.ok()) return value.status();
    return Config(*std::move(value));
  };
  switch (record.config_case()) {
    case proto::ConfigRecord::kTile:
      return wrap(TileBoundsFromProto(record.tile()));
    case proto::ConfigRecord::kFusion:
      return wrap(FusionFromProto(record.fusion()));
    case proto::ConfigRecord::kLayout:
      return wrap(LayoutFromProto(record.layout()));
    case proto::ConfigRecord::kOpaque:
      if (record.opaque() < 0) return absl::InvalidArgumentError("negative opaque position");
      return Config(OpaqueConfig{record.opaque()});
    case proto::ConfigRecord::CONFIG_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("a configuration of a kind that this program does not know");
}

absl::Status CheckSeconds(double seconds, absl::string_view what) {
  if (IsPossibleCost(seconds)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " of ", seconds, " s"));
}

}  // namespace

void TileBoundsToProto(const TileBounds& bounds, proto::TileSizeConfig* tile) {
  tile->mutable_kernel_bounds()->Add(bounds.kernel.begin(), bounds.kernel.end());
  tile->mutable_output_bounds()->Add(bounds.output.begin(), bounds.output.end());
  tile->mutable_input_bounds()->Add(bounds.input.begin(), bounds.input.end());
  tile->mutable_iteration_bounds()->Add(bounds.iteration.begin(), bounds.iteration.end());
}

absl::StatusOr<TileBounds> TileBoundsFromProto(const proto::TileSizeConfig& tile) {
  TileBounds bounds;
  absl::Status status = ReadBounds(tile.kernel_bounds(), "kernel", &bounds.kernel);
  status.Update(ReadBounds(tile.output_bounds(), "output", &bounds.output));
  status.Update(ReadBounds(tile.input_bounds(), "input", &bounds.input));
  status.Update(ReadBounds(tile.iteration_bounds(), "iteration", &bounds.iteration));
  if (!status.ok()) return status;
  return bounds;
}

absl::StatusOr<LayoutConfig> LayoutFromProto(const proto::LayoutConfig& message) {
  LayoutConfig layout;
  for (const proto::NodeLayoutConfig& node : message.nodes()) {
    auto& tensors = layout.nodes.emplace_back();
    for (const proto::TensorLayoutConfig& tensor : node.tensors()) {
      auto& dims = tensors.emplace_back(tensor.dims().begin(), tensor.dims().end());
      for (const int32_t dim : dims) {
        if (dim < 0) return absl::InvalidArgumentError("a layout holds a negative dimension");
      }
    }
  }
  return layout;
}

void KernelToProto(const Kernel& kernel, proto::KernelRecord* record) {
  record->set_name(kernel.name);
  record->set_kind(kernel.kind);
  kernel.module->ToProto(record->mutable_module());
  record->set_count(kernel.count);
  if (!kernel.compiler_choice.has_value()) return;
  proto::CompilerChoiceRecord& choice = *record->mutable_compiler_choice();
  TileBoundsToProto(kernel.compiler_choice->bounds, choice.mutable_bounds());
  if (kernel.compiler_choice->estimated_cycles.has_value()) {
    choice.set_estimated_cycles(*kernel.compiler_choice->estimated_cycles);
  }
}

absl::StatusOr<Kernel> KernelFromProto(const proto::KernelRecord& record) {
  absl::StatusOr<Kernel> kernel = KernelOfRecordedModule(record.module());
  if (!kernel.ok()) return kernel;
  kernel->name = record.name();
  kernel->kind = record.kind();
  if (record.count() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(record.name(), " occurs ", record.count(), " times"));
  }
  kernel->count = record.count();
  kernel->compiler_choice = std::nullopt;
  if (!record.has_compiler_choice()) return kernel;
  absl::StatusOr<TileBounds> bounds = TileBoundsFromProto(record.compiler_choice().bounds());
  if (!bounds.ok()) return bounds.status();
  kernel->compiler_choice = CompilerChoice{*std::move(bounds), std::nullopt};
  if (record.compiler_choice().has_estimated_cycles()) {
    const int64_t cycles = record.compiler_choice().estimated_cycles();
    if (cycles < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("a compiler's estimate of ", cycles, " cycles"));
    }
    kernel->compiler_choice->estimated_cycles = cycles;
  }
  return kernel;
}

void RecordedConfigToProto(const RecordedConfig& config, proto::ConfigRecord* record) {
  if (config.config.tile() != nullptr) {
    TileBoundsToProto(*config.config.tile(), record->mutable_tile());
  } else if (config.config.fusion() != nullptr) {
    const std::vector<int64_t>& cuts = config.config.fusion()->cuts;
    record->mutable_fusion()->mutable_cuts()->Add(cuts.begin(), cuts.end());
  } else if (config.config.layout() != nullptr) {
    LayoutToProto(*config.config.layout(), record->mutable_layout());
  } else {
    record->set_opaque(config.config.opaque()->index);
  }
  record->mutable_seconds()->Add(config.seconds.begin(), config.seconds.end());
  for (const Failure& failure : config.failures) {
    proto::FailureRecord& message = *record->add_failures();
    message.set_kind(std::string(FailureKindName(failure.kind)));
    message.set_message(failure.message);
  }
  record->set_is_default(config.is_default);
  if (config.compile_seconds.has_value()) record->set_compile_seconds(*config.compile_seconds);
  if (config.compiler_estimate_seconds.has_value()) {
    record->set_compiler_estimate_seconds(*config.compiler_estimate_seconds);
  }
}

absl::StatusOr<RecordedConfig> RecordedConfigFromProto(const proto::ConfigRecord& record) {
  absl::StatusOr<Config> config = ConfigFromProto(record);
  if (!config.ok()) return config.status();
  RecordedConfig recorded{*std::move(config)};
  for (const double seconds : record.seconds()) {
    if (!IsPossibleTime(seconds)) {
      return absl::InvalidArgumentError(absl::StrCat("a time of ", seconds, " s"));
    }
    recorded.seconds.push_back(seconds);
  }
  for (const proto::FailureRecord& message : record.failures()) {
    const std::optional<FailureKind> kind = FailureKindFromName(message.kind());
    if (!kind.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("unknown kind of failure \"", message.kind(), "\""));
    }
    recorded.failures.push_back({*kind, message.message()});
  }
  if (recorded.seconds.empty() && recorded.failures.empty()) {
    return absl::InvalidArgumentError("a configuration without runs");
  }
  recorded.is_default = record.is_default();
  if (record.has_compile_seconds()) {
    absl::Status status = CheckSeconds(record.compile_seconds(), "a compilation");
    if (!status.ok()) return status;
    recorded.compile_seconds = record.compile_seconds();
  }
  if (record.has_compiler_estimate_seconds()) {
    absl::Status status = CheckSeconds(record.compiler_estimate_seconds(), "a compiler's estimate");
    if (!status.ok()) return status;
    recorded.compiler_estimate_seconds = record.compiler_estimate_seconds();
  }
  return recorded;
}

}  // namespace autotune
