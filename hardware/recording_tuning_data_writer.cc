// Writing TpuGraphs' recordings.

#include <cmath>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hardware/recording_forms.h"
#include "hlo/module.h"
#include "proto/tuning_data.pb.h"

namespace autotune {
namespace {

void SetLayout(const LayoutConfig& layout, proto::LayoutConfig* message) {
  for (const auto& node : layout.nodes) {
    proto::NodeLayoutConfig& tensors = *message->add_nodes();
    for (const std::vector<int32_t>& dims : node) {
      tensors.add_tensors()->mutable_dims()->Add(dims.begin(), dims.end());
    }
  }
}

// A run without its result.
absl::StatusOr<proto::ConfigProfile> RunOf(const RecordedConfig& recorded) {
  proto::ConfigProfile run;
  const Config& config = recorded.config;
  if (config.tile() != nullptr) {
    TileBoundsToProto(*config.tile(), run.mutable_op_config()->mutable_tile_size_config());
  } else if (config.layout() != nullptr) {
    SetLayout(*config.layout(), run.mutable_module_config()->mutable_layout_config());
  } else if (config.opaque() != nullptr) {
    run.mutable_op_config()->mutable_tile_size_config();
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("the configuration ", config.Key(), " has no place in TuningData"));
  }
  run.set_is_default(recorded.is_default);
  return run;
}

// One run for each sample and failure.
absl::Status AddRuns(const RecordedConfig& recorded, std::deque<proto::ConfigProfile>* runs) {
  const absl::StatusOr<proto::ConfigProfile> form = RunOf(recorded);
  if (!form.ok()) return form.status();
  for (const double seconds : recorded.seconds) {
    const int64_t nanoseconds = std::llround(seconds * 1e9);
    if (nanoseconds < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("a time of ", seconds, " s rounds to 0 ns, which TuningData cannot hold"));
    }
    runs->push_back(*form);
    runs->back().mutable_profile()->set_compute_time_ns(nanoseconds);
  }
  for (size_t i = 0; i < recorded.failures.size(); ++i) {
    runs->push_back(*form);
    runs->back().set_error(true);
  }
  return absl::OkStatus();
}

// Opaque configurations are told apart by their position alone: each goes back to its own.
absl::Status WriteKernel(const RecordedKernel& kernel, proto::ModuleTuningData* message) {
  kernel.kernel().module->ToProto(message->mutable_module());
  message->set_fingerprint(kernel.kernel().fingerprint);
  for (const int64_t id : kernel.layout_node_ids()) {
    message->add_config_index_to_node(static_cast<uint64_t>(id));
  }
  std::deque<proto::ConfigProfile> others;
  std::map<int64_t, proto::ConfigProfile> opaque;
  for (const RecordedConfig& recorded : kernel.configs()) {
    std::deque<proto::ConfigProfile> runs;
    if (absl::Status status = AddRuns(recorded, &runs); !status.ok()) return status;
    if (recorded.config.opaque() != nullptr && runs.size() == 1) {
      opaque[recorded.config.opaque()->index] = runs.front();
    } else {
      others.insert(others.end(), runs.begin(), runs.end());
    }
  }
  for (auto& [position, run] : opaque) {
    while (message->runs_size() < position && !others.empty()) {
      *message->add_runs() = std::move(others.front());
      others.pop_front();
    }
    *message->add_runs() = std::move(run);
  }
  for (proto::ConfigProfile& run : others) *message->add_runs() = std::move(run);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> WriteTuningData(const Recording& recording) {
  if (recording.origin().source != TimeSource::kHardware) {
    return absl::InvalidArgumentError(
        "TuningData holds times of hardware; these are estimates, which must not pass for them");
  }
  proto::TuningData data;
  for (const RecordedKernel& kernel : recording.kernels()) {
    if (absl::Status status = WriteKernel(kernel, data.add_modules()); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat("kernel ", kernel.kernel().name, ": ",
                                                      std::string(status.message())));
    }
  }
  return SerializeDeterministically(data);
}

}  // namespace autotune
