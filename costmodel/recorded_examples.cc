#include "costmodel/recorded_examples.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "costmodel/analytical_fit.h"
#include "hlo/fingerprint.h"

namespace autotune {
namespace {

// The tiles of one recorded kernel that can be learned from.
struct LearnableTile {
  const TileBounds* bounds;
  double seconds;
  bool is_default;
};

std::vector<LearnableTile> LearnableTiles(const RecordedKernel& recorded,
                                          const TileGeometry& geometry) {
  std::vector<LearnableTile> tiles;
  for (const RecordedConfig& config : recorded.configs()) {
    const std::optional<double> seconds = config.MedianSeconds();
    const TileBounds* bounds = config.config.tile();
    if (!seconds || bounds == nullptr || !geometry.Accepts(*bounds)) continue;
    tiles.push_back({bounds, *seconds, config.is_default});
  }
  return tiles;
}

// Collects what the analytical constants of one device are fitted on.
class FitSample {
 public:
  explicit FitSample(const RecordedDataOptions& options) : options_(options) {}

  absl::Status Add(const RecordedKernel& recorded, const DeviceSpec& device) {
    if (static_cast<int64_t>(kernels_.size()) >= options_.fit_kernels) return absl::OkStatus();
    absl::StatusOr<AnalyticalKernel> kernel =
        AnalyticalKernel::Create(*recorded.kernel().module, device);
    if (!kernel.ok()) return absl::OkStatus();  // a kernel that is not tiled
    std::vector<LearnableTile> tiles = LearnableTiles(recorded, kernel->geometry());
    std::mt19937_64 random(recorded.kernel().fingerprint);
    std::shuffle(tiles.begin(), tiles.end(), random);
    AnalyticalFitKernel fit;
    for (const LearnableTile& tile : tiles) {
      if (static_cast<int64_t>(fit.tiles.size()) >= options_.fit_tiles) break;
      fit.tiles.push_back(*tile.bounds);
      fit.seconds.push_back(tile.seconds);
    }
    if (fit.tiles.size() < 2) return absl::OkStatus();
    kernels_.push_back(std::make_unique<AnalyticalKernel>(*std::move(kernel)));
    fit.kernel = kernels_.back().get();
    fits_.push_back(std::move(fit));
    return absl::OkStatus();
  }

  AnalyticalConstants Fit() const { return FitAnalyticalConstants(fits_, AnalyticalConstants()); }

 private:
  const RecordedDataOptions& options_;
  std::vector<std::unique_ptr<AnalyticalKernel>> kernels_;
  std::vector<AnalyticalFitKernel> fits_;
};

class DataReader {
 public:
  DataReader(absl::Span<const std::string> files, const RecordedDataOptions& options,
             std::map<Side, ExampleStore*> stores)
      : files_(files), options_(options), stores_(std::move(stores)) {
    data_.split = options.split;
    for (const std::string& file : files) data_.split.try_emplace(ProgramOfFile(file));
  }

  absl::StatusOr<RecordedData> Read() {
    absl::Status status = TakeKernels();
    if (status.ok()) status = FitConstants();
    for (Side side : {Side::kTraining, Side::kValidation, Side::kTest}) {
      if (status.ok() && stores_[side] != nullptr) status = FillStore(side);
    }
    if (!status.ok()) return status;
    data_.fingerprint = fingerprint_.Get();
    return std::move(data_);
  }

 private:
  // Which program has a kernel on a device: the key is the fingerprint and the device's name.
  using Owners = std::map<std::pair<uint64_t, std::string>, std::string>;

  std::vector<std::string> FilesOf(Side side) const {
    std::vector<std::string> files;
    for (const std::string& file : files_) {
      if (data_.split.at(ProgramOfFile(file)) == side) files.push_back(file);
    }
    return files;
  }

  bool Wanted(Side side, const std::string& device) const {
    const std::string& only = side == Side::kTest ? options_.test_device : options_.training_device;
    return only.empty() || only == device;
  }

  // What a device takes whose own constants are not known.
  AnalyticalConstants ConstantsOf(const std::string& device) const {
    const auto own = data_.constants.find(device);
    if (own != data_.constants.end()) return own->second;
    return data_.constants.empty() ? AnalyticalConstants() : data_.constants.begin()->second;
  }

  // Calls `visit` for each kernel in the files of the side, with its device.
  template <typename Visit>
  absl::Status ForEach(Side side, const Visit& visit) const {
    for (const std::string& file : FilesOf(side)) {
      absl::StatusOr<Recording> recording = Recording::Load(file);
      if (!recording.ok()) return recording.status();
      absl::StatusOr<DeviceSpec> device = FindDeviceSpec(recording->origin().device);
      if (!device.ok()) return device.status();
      if (!Wanted(side, device->name)) continue;
      for (const RecordedKernel& kernel : recording->kernels()) {
        if (absl::Status status = visit(kernel, *device, file); !status.ok()) return status;
      }
    }
    return absl::OkStatus();
  }

  // The same for each kernel that belongs to the side.
  template <typename Visit>
  absl::Status ForEachOwned(Side side, const Visit& visit) const {
    return ForEach(side,
                   [&](const RecordedKernel& kernel, const DeviceSpec& device,
                       const std::string& file) -> absl::Status {
                     const auto owner = owners_.find({kernel.kernel().fingerprint, device.name});
                     if (owner == owners_.end() || owner->second != file) return absl::OkStatus();
                     return visit(kernel, device, file);
                   });
  }

  absl::Status TakeKernels() {
    std::map<uint64_t, Side> taken;
    absl::Status status;
    for (Side side : {Side::kTest, Side::kValidation, Side::kTraining}) {
      status.Update(ForEach(side, [&](const RecordedKernel& kernel, const DeviceSpec& device,
                                      const std::string& file) {
        const uint64_t fingerprint = kernel.kernel().fingerprint;
        const bool other_side =
            !taken.try_emplace(fingerprint, side).second && taken.at(fingerprint) != side;
        if (other_side || !owners_.try_emplace({fingerprint, device.name}, file).second) {
          ++data_.duplicates;
        }
        return absl::OkStatus();
      }));
    }
    return status;
  }

  absl::Status FitConstants() {
    if (options_.constants) {
      data_.constants = *options_.constants;
      return absl::OkStatus();
    }
    std::map<std::string, FitSample> samples;
    absl::Status status = ForEachOwned(
        Side::kTraining,
        [&](const RecordedKernel& kernel, const DeviceSpec& device, const std::string&) {
          return samples.try_emplace(device.name, options_).first->second.Add(kernel, device);
        });
    for (const auto& [device, sample] : samples) data_.constants[device] = sample.Fit();
    return status;
  }

  absl::Status FillStore(Side side) {
    return ForEachOwned(side,
                        [&](const RecordedKernel& kernel, const DeviceSpec& device,
                            const std::string& file) -> absl::Status {
                          const double place = std::ldexp(
                              static_cast<double>(kernel.kernel().fingerprint >> 11), -53);
                          if (side == Side::kTraining && place >= options_.training_share)
                            return absl::OkStatus();
                          absl::StatusOr<std::optional<KernelExample>> example = MakeExample(
                              kernel, ProgramOfFile(file), device.name, ConstantsOf(device.name));
                          if (!example.ok()) return example.status();
                          if (!example->has_value()) return absl::OkStatus();
                          if (side != Side::kTest) AddToFingerprint(**example);
                          return stores_[side]->Add(**example);
                        });
  }

  void AddToFingerprint(const KernelExample& example) {
    fingerprint_.AddText(example.device).AddInt(example.fingerprint);
    for (float value : example.target) {
      fingerprint_.AddInt(static_cast<uint64_t>(std::llround(1e6 * value)));
    }
  }

  absl::Span<const std::string> files_;
  const RecordedDataOptions& options_;
  std::map<Side, ExampleStore*> stores_;
  RecordedData data_;
  Owners owners_;
  Fingerprinter fingerprint_;
};

}  // namespace

std::string ProgramOfFile(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return name.substr(0, name.find('.'));
}

absl::string_view SideName(Side side) {
  switch (side) {
    case Side::kTraining:
      return "training";
    case Side::kValidation:
      return "validation";
    case Side::kTest:
      return "test";
  }
  return "";
}

absl::StatusOr<std::optional<KernelExample>> MakeExample(const RecordedKernel& recorded,
                                                         const std::string& program,
                                                         const std::string& device,
                                                         const AnalyticalConstants& constants) {
  absl::StatusOr<DeviceSpec> spec = FindDeviceSpec(device);
  if (!spec.ok()) return spec.status();
  const absl::StatusOr<Featurizer> featurizer = Featurizer::Create(recorded.kernel(), *spec);
  if (!featurizer.ok()) return std::optional<KernelExample>();
  KernelExample example;
  example.program = program;
  example.kernel = recorded.kernel().name;
  example.fingerprint = recorded.kernel().fingerprint;
  example.device = device;
  example.count = recorded.kernel().count;
  AnalyticalScratch scratch;
  std::vector<float> features(TileFeatureSchema().config.size());
  for (const LearnableTile& tile : LearnableTiles(recorded, featurizer->geometry())) {
    const AnalyticalEstimate estimate =
        featurizer->ConfigFeatures(*tile.bounds, constants, absl::MakeSpan(features), &scratch);
    if (!estimate.fits) continue;
    if (tile.is_default) example.default_config = example.configs();
    example.config_features.insert(example.config_features.end(), features.begin(), features.end());
    example.base.push_back(static_cast<float>(std::log(estimate.seconds)));
    example.target.push_back(static_cast<float>(std::log(tile.seconds)));
  }
  if (example.configs() < 2) return std::optional<KernelExample>();
  example.graph = featurizer->graph();
  return std::optional<KernelExample>(std::move(example));
}

ProgramSplit SplitPrograms(const std::vector<std::string>& programs,
                           const absl::flat_hash_set<std::string>& test, double validation_share,
                           double test_share, uint64_t seed) {
  std::vector<std::string> rest;
  ProgramSplit split;
  for (const std::string& program : programs) {
    if (split.try_emplace(program, Side::kTraining).second && !test.contains(program)) {
      rest.push_back(program);
    }
    if (test.contains(program)) split[program] = Side::kTest;
  }
  std::sort(rest.begin(), rest.end());
  std::mt19937_64 random(seed);
  std::shuffle(rest.begin(), rest.end(), random);
  const auto take = [&rest, &split](double share, Side side) {
    const auto rounded =
        static_cast<size_t>(std::llround(share * static_cast<double>(split.size())));
    size_t count = share > 0 ? std::max<size_t>(1, rounded) : 0;
    for (; count > 0 && rest.size() > 1; --count) {
      split[rest.back()] = side;
      rest.pop_back();
    }
  };
  if (test.empty()) take(test_share, Side::kTest);
  take(validation_share, Side::kValidation);
  return split;
}

absl::StatusOr<RecordedData> ReadRecordedData(absl::Span<const std::string> files,
                                              const RecordedDataOptions& options,
                                              ExampleStore* training, ExampleStore* validation,
                                              ExampleStore* test) {
  return DataReader(
             files, options,
             {{Side::kTraining, training}, {Side::kValidation, validation}, {Side::kTest, test}})
      .Read();
}

}  // namespace autotune
