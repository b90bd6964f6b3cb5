#ifndef AUTOTUNE_HARDWARE_RECORDING_H_
#define AUTOTUNE_HARDWARE_RECORDING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hardware/config.h"
#include "hardware/measurement.h"
#include "hlo/kernel.h"

namespace autotune {

// Everything recorded of one configuration of one kernel. A plain value.
struct RecordedConfig {
  Config config;
  // One entry per recorded run that has a time, in recorded order, in seconds.
  std::vector<double> seconds;
  // One entry per recorded run that failed.
  std::vector<Failure> failures;
  // True if the compiler would choose this configuration by itself.
  bool is_default = false;
  // Seconds that compiling took, where it was recorded.
  std::optional<double> compile_seconds;
  // The compiler's own estimate in seconds, where it was recorded.
  std::optional<double> compiler_estimate_seconds;

  // The samples, or, when no run has a time, the first failure.
  // REQUIRES: at least one run (every RecordedConfig of a Recording has one).
  Measurement ToMeasurement(TimeSource source) const;

  // The median of the samples in seconds; nullopt if no run has a time.
  std::optional<double> MedianSeconds() const;
};

// A kernel with what was recorded of it. Append-only; a value.
class RecordedKernel {
 public:
  explicit RecordedKernel(Kernel kernel) : kernel_(std::move(kernel)) {}

  const Kernel& kernel() const { return kernel_; }

  // Distinct configurations in order of first occurrence.
  const std::vector<RecordedConfig>& configs() const { return configs_; }

  // The recorded configuration with this key, or null. The pointer lives until the next Add.
  const RecordedConfig* Find(absl::string_view config_key) const;
  // The compiler's default, or null if the recording does not mark one.
  const RecordedConfig* Default() const;
  // The one with the smallest median time (the first of equals), or null if nothing has a time.
  const RecordedConfig* Best() const;

  // Number of recorded runs, failures included.
  int64_t runs() const { return runs_; }
  // True if any configuration is opaque: such a kernel is left out of model metrics and of `apply`.
  bool HasOpaqueConfigs() const;
  // Configurations that have a time.
  int64_t ValidConfigs() const;

  // For a whole program recorded with layouts: the instruction id (as in the module's protobuf) of
  // each node of its LayoutConfigs, in order. Else empty.
  const std::vector<int64_t>& layout_node_ids() const { return layout_node_ids_; }
  void set_layout_node_ids(std::vector<int64_t> ids) { layout_node_ids_ = std::move(ids); }

  // Adds the runs of `recorded` to the configuration with the same key, or a new configuration.
  void Add(RecordedConfig recorded);

 private:
  Kernel kernel_;
  std::vector<RecordedConfig> configs_;
  absl::flat_hash_map<std::string, size_t> index_;
  std::vector<int64_t> layout_node_ids_;
  int64_t runs_ = 0;
};

// Where the measurements of a recording come from.
struct RecordingOrigin {
  std::string device;    // "tpu-v3"; never empty in a loaded recording
  std::string backend;   // what measured: "tpugraphs", "aot", "pjrt"; may be empty
  std::string versions;  // compiler and library versions; may be empty
  TimeSource source = TimeSource::kHardware;

  friend bool operator==(const RecordingOrigin&, const RecordingOrigin&) = default;
};

// Measurements of kernels on one device, kept in a file. Kernels are told apart by fingerprint;
// recording a kernel again adds samples. A value; reading is thread-safe.
class Recording {
 public:
  explicit Recording(RecordingOrigin origin) : origin_(std::move(origin)) {}

  // Reads a file by its content: a TpuGraphs `TuningData` or `ModuleTuningData` message (kernel
  // tiles or module layouts), or the project's own form; each may be gzip-compressed. Times are
  // TpuGraphs' `compute_time_ns`. TpuGraphs files name no device: they were recorded on "tpu-v3".
  // NotFound for a missing file; InvalidArgument, naming file, record and byte, for anything that
  // is damaged or no recording. Never crashes on untrusted input.
  static absl::StatusOr<Recording> Load(const std::string& path);

  // The same from memory; `name` stands for the file's name in errors.
  static absl::StatusOr<Recording> Parse(absl::string_view bytes, const std::string& name);

  // True if the bytes begin like a recording and not like a plain HLO module.
  static bool LooksLikeRecording(absl::string_view bytes);

  const RecordingOrigin& origin() const { return origin_; }

  // In recorded order.
  const std::vector<RecordedKernel>& kernels() const { return kernels_; }

  // By Kernel::fingerprint; null if the kernel is not recorded.
  const RecordedKernel* Find(uint64_t fingerprint) const;

  // The recorded kernel equal to `kernel`, which is added if it is new. The reference lives until
  // the next call.
  RecordedKernel& FindOrAdd(const Kernel& kernel);

  // Adds everything of `other`. FailedPrecondition if device or time source differ: such times
  // never mix. Backend and versions are joined with "+" where they differ.
  absl::Status Merge(const Recording& other);

  // The project's own form, gzip-compressed: equal recordings give equal bytes.
  absl::StatusOr<std::string> Serialize() const;

  // Serialize into a file: written aside, then renamed, so that there is never half a file.
  absl::Status Save(const std::string& path) const;

 private:
  RecordingOrigin origin_;
  std::vector<RecordedKernel> kernels_;
  absl::flat_hash_map<uint64_t, size_t> index_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_RECORDING_H_
