// TpuGraphs' tile collection into a record store. Meaning and order of its features are those of
// its data pipeline (google-research-datasets/tpu_graphs, process_data/xla/featurizers.h and
// tuning_data_iterator.cc).

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hardware/npz_file.h"
#include "hardware/possible_time.h"
#include "hardware/record_importer.h"
#include "hardware/record_transfer.h"
#include "hlo/fingerprint.h"

namespace autotune {
namespace {

// Kernel, output and input bounds: of each the first six, their sum and their product.
constexpr size_t kBounds = 6;
constexpr size_t kFeaturesOfBounds = kBounds + 2;
constexpr int64_t kConfigFeatures = 3 * kFeaturesOfBounds;

// Bounds as they were before they were filled up with zeros; nullopt if they had more than six, or
// are no bounds.
std::optional<WindowBounds> BoundsOf(const float* features) {
  WindowBounds bounds;
  double sum = 0;
  for (size_t i = 0; i < kBounds; ++i) {
    const float bound = features[i];
    if (!(bound >= 0 && bound <= 1e9f) || bound != std::floor(bound)) return std::nullopt;
    sum += bound;
    if (bound > 0 && bounds.size() < i) return std::nullopt;  // a zero between bounds
    if (bound > 0) bounds.push_back(static_cast<int64_t>(bound));
  }
  if (static_cast<float>(sum) != features[kBounds]) return std::nullopt;
  return bounds;
}

// A row that says nothing, or not all, is told from others by its position.
Config ConfigOf(const float* features, int64_t row) {
  const std::optional<WindowBounds> kernel = BoundsOf(features);
  const std::optional<WindowBounds> output = BoundsOf(features + kFeaturesOfBounds);
  const std::optional<WindowBounds> input = BoundsOf(features + 2 * kFeaturesOfBounds);
  if (!kernel || !output) return Config(OpaqueConfig{row});
  TileBounds tile = {.kernel = *kernel, .output = *output, .input = input.value_or(WindowBounds())};
  return tile.IsEmpty() ? Config(OpaqueConfig{row}) : Config(std::move(tile));
}

// The arrays of one file that become records.
class TileFile {
 public:
  TileFile(const NpzReader& npz, const std::string& name) : npz_(npz), name_(name) {}

  absl::Status Read() {
    for (const char* array : {"node_opcode", "node_feat", "edge_index"}) {
      const absl::StatusOr<NpyArray> values = npz_.Read(array);
      if (!values.ok()) return values.status();
      fingerprint_.AddText(values->data);
    }
    absl::StatusOr<std::vector<int64_t>> runtimes = Integers("config_runtime");
    if (!runtimes.ok()) return runtimes.status();
    runtimes_ = *std::move(runtimes);
    absl::StatusOr<std::vector<int64_t>> normalizers = Integers("config_runtime_normalizers");
    if (!normalizers.ok()) return normalizers.status();
    normalizers_ = *std::move(normalizers);
    if (normalizers_.size() != runtimes_.size()) {
      return Error("config_runtime_normalizers", "must be as long as config_runtime");
    }
    const absl::StatusOr<NpyArray> features = npz_.Read("config_feat");
    if (!features.ok()) return features.status();
    if (features->shape != std::vector<int64_t>{rows(), kConfigFeatures}) {
      return Error("config_feat", absl::StrCat("must be ", rows(), " x ", kConfigFeatures));
    }
    features_ = features->Floats();
    return absl::OkStatus();
  }

  int64_t rows() const { return static_cast<int64_t>(runtimes_.size()); }

  // The candidates, each with `form` as what they have in common. The compiler's own choice is the
  // first one whose time is that by which it is to be divided.
  absl::StatusOr<std::vector<CandidateRecord>> Candidates(const CandidateRecord& form) const {
    std::vector<CandidateRecord> records;
    bool has_default = false;
    for (int64_t row = 0; row < rows(); ++row) {
      const int64_t nanoseconds = runtimes_[static_cast<size_t>(row)];
      const double seconds = 1e-9 * static_cast<double>(nanoseconds);
      if (!IsPossibleTime(seconds)) {
        return Error("config_runtime", absl::StrCat("holds ", nanoseconds, " ns at ", row,
                                                    ", which is no time of a kernel"));
      }
      CandidateRecord& record = records.emplace_back(form);
      record.sequence = row;
      record.kernel_fingerprint = fingerprint_.Get();
      record.config = ConfigOf(&features_[static_cast<size_t>(row * kConfigFeatures)], row);
      record.measurement = Measurement::FromSamples({seconds}, TimeSource::kHardware);
      record.is_default = !has_default && nanoseconds == normalizers_[static_cast<size_t>(row)];
      has_default = has_default || record.is_default;
    }
    return records;
  }

 private:
  absl::Status Error(const std::string& array, const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat(name_, ": ", array, " ", what));
  }

  absl::StatusOr<std::vector<int64_t>> Integers(const std::string& array) const {
    const absl::StatusOr<NpyArray> values = npz_.Read(array);
    if (!values.ok()) return values.status();
    if (values->shape.size() != 1) return Error(array, "must have one axis");
    absl::StatusOr<std::vector<int64_t>> numbers = values->Integers();
    if (!numbers.ok()) return Error(array, "must hold whole numbers");
    return numbers;
  }

  const NpzReader& npz_;
  const std::string& name_;
  Fingerprinter fingerprint_;
  std::vector<int64_t> runtimes_, normalizers_;
  std::vector<float> features_;
};

}  // namespace

bool IsTpuGraphsTileFile(const NpzReader& npz) {
  for (const char* array : {"node_opcode", "node_feat", "edge_index", "config_feat",
                            "config_runtime", "config_runtime_normalizers"}) {
    if (!npz.Has(array)) return false;
  }
  return true;
}

absl::StatusOr<ImportCounts> ImportTpuGraphsTiles(RecordStore& store, const NpzReader& npz,
                                                  const std::string& name,
                                                  const std::string& kernel_name,
                                                  const std::string& run_id, int64_t unix_micros) {
  TileFile file(npz, name);
  if (absl::Status status = file.Read(); !status.ok()) return status;
  const absl::StatusOr<int64_t> begun = TimeOfImport(store, run_id, unix_micros);
  if (!begun.ok()) return begun.status();
  CandidateRecord form;
  form.run_id = run_id;
  form.kernel_name = kernel_name;
  form.context = {"tpu-v3", "tpugraphs", "", "", TimeSource::kHardware};
  form.fate = Fate::kMeasured;
  form.unix_micros = *begun;
  absl::StatusOr<std::vector<CandidateRecord>> records = file.Candidates(form);
  if (!records.ok()) return records.status();
  RecordImporter importer(store);
  absl::Status status = importer.AddRun({.id = run_id,
                                         .program = kernel_name,
                                         .options_json = "{}",
                                         .started_unix_micros = *begun,
                                         .finished_unix_micros = *begun,
                                         .outcome = "done"});
  for (CandidateRecord& record : *records) {
    if (status.ok()) status = importer.AddCandidate(std::move(record));
  }
  if (status.ok()) status = importer.Flush();
  if (!status.ok()) return status;
  return importer.counts();
}

}  // namespace autotune
