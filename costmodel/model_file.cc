#include "costmodel/model_file.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "costmodel/network_json.h"
#include "costmodel/network_module.h"
#include "hardware/atomic_file.h"
#include "hlo/fingerprint.h"

namespace autotune {
namespace {

using nlohmann::json;

constexpr char kDescription[] = "model.json";
constexpr char kWeights[] = "weights.bin";

json SchemaToJson(const FeatureSchema& schema) {
  return {{"name", schema.name}, {"version", schema.version}, {"opcodes", schema.opcodes},
          {"node", schema.node}, {"kernel", schema.kernel},   {"config", schema.config}};
}

json ConstantsToJson(const ConstantsByDevice& constants) {
  json result = json::object();
  for (const auto& [device, values] : constants) {
    for (const NamedConstant& c : AnalyticalConstantList())
      result[device][c.name] = values.*c.value;
  }
  return result;
}

json SplitToJson(const ProgramSplit& split) {
  json result = json::object();
  for (Side side : {Side::kTraining, Side::kValidation, Side::kTest}) {
    json& programs = result[std::string(SideName(side))] = json::array();
    for (const auto& [program, of] : split) {
      if (of == side) programs.push_back(program);
    }
  }
  return result;
}

// Reads members of model.json; keeps the first error.
class DescriptionReader {
 public:
  DescriptionReader(const json& object, std::string path)
      : object_(object), path_(std::move(path)) {}

  template <typename Value>
  void Read(const char* name, Value* value) {
    try {
      if (status_.ok()) object_.at(name).get_to(*value);
    } catch (const json::exception&) {
      Fail(name);
    }
  }

  void ReadSchema(FeatureSchema* schema) {
    try {
      const json& member = object_.at("schema");
      member.at("name").get_to(schema->name);
      member.at("version").get_to(schema->version);
      member.at("opcodes").get_to(schema->opcodes);
      member.at("node").get_to(schema->node);
      member.at("kernel").get_to(schema->kernel);
      member.at("config").get_to(schema->config);
    } catch (const json::exception&) {
      Fail("schema");
    }
  }

  void ReadConstants(ConstantsByDevice* constants) {
    try {
      for (const auto& [device, values] : object_.at("constants").get<json::object_t>()) {
        AnalyticalConstants& of_device = (*constants)[device];
        for (const NamedConstant& c : AnalyticalConstantList()) {
          values.at(c.name).get_to(of_device.*c.value);
          if (!std::isfinite(of_device.*c.value)) Fail("constants");
        }
      }
    } catch (const json::exception&) {
      Fail("constants");
    }
  }

  void ReadSplit(ProgramSplit* split) {
    try {
      for (Side side : {Side::kTraining, Side::kValidation, Side::kTest}) {
        for (const json& program : object_.at("programs").at(std::string(SideName(side)))) {
          (*split)[program.get<std::string>()] = side;
        }
      }
    } catch (const json::exception&) {
      Fail("programs");
    }
  }

  void ReadNetwork(NetworkOptions* network) {
    if (!object_.contains("network")) return Fail("network");
    absl::Status status = UpdateFromJson(object_["network"], network);
    if (!status.ok())
      status_.Update(
          absl::InvalidArgumentError(absl::StrCat(path_, ": network: ", status.message())));
  }

  const absl::Status& status() const { return status_; }

 private:
  void Fail(const char* name) {
    status_.Update(absl::InvalidArgumentError(
        absl::StrCat(path_, ": the member \"", name, "\" is missing or no such value")));
  }

  const json& object_;
  std::string path_;
  absl::Status status_;
};

absl::Status CheckSchema(const ModelFile& model, const std::string& path) {
  const FeatureSchema& computed = TileFeatureSchema();
  if (model.schema.name != computed.name || model.schema == computed) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      path, " was trained on version ", model.schema.version,
      " of the features; this autotune computes version ", computed.version,
      model.schema.version == computed.version ? " with other names" : "", ": train it again"));
}

// What the network takes in is what the features are: nothing checks it once kernels are scored.
absl::Status CheckInputs(const ModelFile& model, const std::string& path) {
  const FeatureSchema& schema = model.schema;
  const NetworkOptions& network = model.network;
  if (network.opcodes == schema.opcodes &&
      network.node_features == static_cast<int64_t>(schema.node.size()) &&
      network.kernel_features == static_cast<int64_t>(schema.kernel.size()) &&
      network.config_features == static_cast<int64_t>(schema.config.size())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": the inputs of \"network\" are not as many as \"schema\" names"));
}

std::string ChecksumOf(absl::string_view weights) {
  return FingerprintText(Fingerprinter().AddText(weights).Get());
}

// Bytes that the largest parameters of a network take at least.
double LeastBytes(const NetworkOptions& options) {
  const int64_t layers = options.layer == GraphLayer::kNone ? 0 : options.layers;
  const int64_t inputs = options.opcode_embedding + options.node_features +
                         layers * options.hidden +
                         options.config_features * (1 + options.config_bins);
  return static_cast<double>(sizeof(float)) * static_cast<double>(options.members) *
         (static_cast<double>(inputs) * static_cast<double>(options.hidden) +
          static_cast<double>(options.opcodes) * static_cast<double>(options.opcode_embedding));
}

}  // namespace

absl::Status SaveModel(const ModelFile& model, const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot make the folder ", directory, ": ", error.message()));
  }
  const json description = {{"format", ModelFile::kFormatVersion},
                            {"task", model.task},
                            {"schema", SchemaToJson(model.schema)},
                            {"network", ToJson(model.network)},
                            {"constants", ConstantsToJson(model.constants)},
                            {"hardware_share", model.hardware_share},
                            {"programs", SplitToJson(model.split)},
                            {"data_fingerprint", model.data_fingerprint},
                            {"data", model.data},
                            {"metrics", model.metrics},
                            {"training", model.training},
                            {"weights_checksum", ChecksumOf(model.weights)}};
  absl::Status status = WriteFileAtomically(absl::StrCat(directory, "/", kWeights), model.weights);
  if (!status.ok()) return status;
  return WriteFileAtomically(
      absl::StrCat(directory, "/", kDescription),
      description.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
}

absl::StatusOr<ModelFile> LoadModel(const std::string& directory) {
  const std::string path = absl::StrCat(directory, "/", kDescription);
  absl::StatusOr<std::string> text = ReadWholeFile(path);
  if (!text.ok()) return text.status();
  const json description = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!description.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is no JSON object"));
  }
  DescriptionReader reader(description, path);
  int format = 0;
  reader.Read("format", &format);
  if (reader.status().ok() && format != ModelFile::kFormatVersion) {
    return absl::InvalidArgumentError(absl::StrCat(path, " has version ", format,
                                                   " of the format; this autotune reads version ",
                                                   ModelFile::kFormatVersion));
  }
  ModelFile model;
  std::string checksum;
  reader.Read("task", &model.task);
  reader.ReadSchema(&model.schema);
  reader.ReadNetwork(&model.network);
  reader.ReadConstants(&model.constants);
  reader.Read("hardware_share", &model.hardware_share);
  reader.ReadSplit(&model.split);
  reader.Read("data_fingerprint", &model.data_fingerprint);
  reader.Read("data", &model.data);
  reader.Read("metrics", &model.metrics);
  reader.Read("training", &model.training);
  reader.Read("weights_checksum", &checksum);
  if (!reader.status().ok()) return reader.status();
  if (absl::Status status = CheckSchema(model, path); !status.ok()) return status;
  if (absl::Status status = CheckInputs(model, path); !status.ok()) return status;
  absl::StatusOr<std::string> weights = ReadWholeFile(absl::StrCat(directory, "/", kWeights));
  if (!weights.ok()) return weights.status();
  model.weights = *std::move(weights);
  if (checksum != ChecksumOf(model.weights)) {
    return absl::InvalidArgumentError(
        absl::StrCat(directory, "/", kWeights, " is damaged or does not belong to ", path));
  }
  return model;
}

std::string WeightsFingerprint(const std::string& directory) {
  const absl::StatusOr<std::string> weights = ReadWholeFile(absl::StrCat(directory, "/", kWeights));
  return weights.ok() ? ChecksumOf(*weights) : "";
}

absl::StatusOr<std::unique_ptr<Network>> RestoreNetwork(const ModelFile& model) {
  // Before memory is taken for a network that the weights cannot be of.
  if (LeastBytes(model.network) > static_cast<double>(model.weights.size())) {
    return absl::InvalidArgumentError("the weights do not fit the network: they are too few");
  }
  absl::StatusOr<std::unique_ptr<Network>> network = CreateNetwork(model.network);
  if (!network.ok()) return network.status();
  std::string error;
  if ((*network)->Load(model.weights, &error)) return network;
  return absl::InvalidArgumentError(absl::StrCat("the weights do not fit the network: ", error));
}

absl::StatusOr<std::string> FindShippedModel(absl::string_view task) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> places;
  const char* given = std::getenv("AUTOTUNE_WEIGHTS");
  if (given != nullptr && *given != '\0') {
    places.emplace_back(given);
  } else {
    const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
    places.push_back(folder.parent_path() / "share" / "autotune" / "weights");
    // BUILD/bin/autotune with BUILD = SOURCE/build/release.
    places.push_back(folder.parent_path().parent_path().parent_path() / "weights");
  }
  for (const fs::path& place : places) {
    const fs::path directory = place / std::string(task);
    if (fs::exists(directory / kDescription, error)) return directory.string();
  }
  return absl::NotFoundError(
      absl::StrCat("no trained model for the task \"", task, "\" in ", places.front().string()));
}

}  // namespace autotune
