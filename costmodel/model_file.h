#ifndef AUTOTUNE_COSTMODEL_MODEL_FILE_H_
#define AUTOTUNE_COSTMODEL_MODEL_FILE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "costmodel/features.h"
#include "costmodel/network.h"
#include "costmodel/recorded_examples.h"
#include "nlohmann/json.hpp"

namespace autotune {

// A trained model as it is kept in a folder: model.json says what it is, weights.bin holds the
// parameters. A plain value.
struct ModelFile {
  // Raised when the form of model.json changes.
  static constexpr int kFormatVersion = 1;

  std::string task = "tile";  // "tile", "fusion" or "layout"
  FeatureSchema schema;
  NetworkOptions network;
  // What the analytical model, which the network corrects, was fitted to: the training labels.
  // Names the devices that the model knows.
  ConstantsByDevice constants;
  // On hardware the analytical model's own constants are used, and this share of the correction:
  // by device, 0 where the correction did not prove itself on recorded hardware times.
  std::map<std::string, double> hardware_share;
  ProgramSplit split;
  std::string data_fingerprint;  // 16 hexadecimal digits
  nlohmann::json data;           // kernels and configurations by side, time source
  nlohmann::json metrics;        // at the end of training
  nlohmann::json training;       // hyper-parameters
  std::string weights;           // Network::Save
};

// Writes both files into `directory`, which is made if it is missing; model.json last, so that a
// folder with a model.json is whole.
absl::Status SaveModel(const ModelFile& model, const std::string& directory);

// NotFound if there is no model.json; InvalidArgument, naming file and member, for a damaged one,
// for weights that do not belong to it, for a network of other inputs than the schema's and for
// another version of the format. FailedPrecondition if
// it was trained on features that this version of autotune does not compute (an "autotune" schema
// that is not TileFeatureSchema()).
absl::StatusOr<ModelFile> LoadModel(const std::string& directory);

// Tells the weights in a folder from those of another training: 16 hexadecimal digits, or "" if
// they cannot be read.
std::string WeightsFingerprint(const std::string& directory);

// The network of a model with its parameters. Loads the module of learned models. InvalidArgument
// if the weights are of a network of other options or not all numbers; Unavailable without the
// module.
absl::StatusOr<std::unique_ptr<Network>> RestoreNetwork(const ModelFile& model);

// The folder of the weights that come with autotune for a task: the environment variable
// AUTOTUNE_WEIGHTS, or ../share/autotune/weights beside the program's folder, or the source tree's
// weights/ if the program runs from a build in it. NotFound if there is none.
absl::StatusOr<std::string> FindShippedModel(absl::string_view task);

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_MODEL_FILE_H_
