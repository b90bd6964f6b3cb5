#include "costmodel/npz_data.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "costmodel/npz_examples.h"
#include "costmodel/npz_layouts.h"
#include "hlo/fingerprint.h"

namespace autotune {

absl::StatusOr<const FeatureSchema*> DetectNpzSchema(const std::string& path) {
  if (IsNpzLayouts(path)) return &TpuGraphsLayoutSchema();
  absl::Status status;
  for (const FeatureSchema* schema : {&TpuGraphsTileSchema(), &TileFeatureSchema()}) {
    const absl::StatusOr<KernelExample> example = ReadNpzExample(path, *schema, 1);
    if (example.ok()) return schema;
    status = example.status();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "neither TpuGraphs' features nor those of autotune: ", std::string(status.message())));
}

std::optional<Side> SideOfFolder(const std::string& file) {
  static constexpr std::pair<const char*, Side> kFolders[] = {{"train", Side::kTraining},
                                                              {"training", Side::kTraining},
                                                              {"valid", Side::kValidation},
                                                              {"validation", Side::kValidation},
                                                              {"test", Side::kTest}};
  std::error_code error;  // "." has a name too
  const std::string path = std::filesystem::absolute(file, error).lexically_normal().string();
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return std::nullopt;
  const size_t before = path.rfind('/', slash - 1);
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  const std::string folder = path.substr(begin, slash - begin);
  for (const auto& [name, side] : kFolders) {
    if (folder == name) return side;
  }
  return std::nullopt;
}

absl::StatusOr<RecordedData> ReadNpzData(absl::Span<const std::string> files,
                                         const FeatureSchema& schema, const ProgramSplit& split,
                                         int64_t max_configs, ExampleStore* training,
                                         ExampleStore* validation, ExampleStore* test) {
  const bool layouts = schema == TpuGraphsLayoutSchema();
  RecordedData data;
  Fingerprinter fingerprint;
  const std::map<Side, ExampleStore*> stores = {
      {Side::kTraining, training}, {Side::kValidation, validation}, {Side::kTest, test}};
  for (const std::string& file : files) {
    const std::string program = ProgramOfFile(file);
    const auto named = split.find(program);
    const Side side =
        SideOfFolder(file).value_or(named == split.end() ? Side::kTraining : named->second);
    // Of a program on several sides the first counts, so that no model is judged by what it has
    // seen.
    const auto entry = data.split.try_emplace(program, side).first;
    entry->second = std::min(entry->second, side);
    ExampleStore* store = stores.at(side);
    if (store == nullptr) continue;
    absl::StatusOr<KernelExample> example =
        layouts ? ReadNpzLayouts(file, max_configs) : ReadNpzExample(file, schema, max_configs);
    if (!example.ok()) return example.status();
    if (example->configs() < 2) continue;
    if (side != Side::kTest) {
      fingerprint.AddInt(example->fingerprint);
      for (const float value : example->target) {
        fingerprint.AddInt(static_cast<uint64_t>(std::llround(1e6 * value)));
      }
    }
    if (absl::Status status = store->Add(*example); !status.ok()) return status;
  }
  data.fingerprint = fingerprint.Get();
  return data;
}

}  // namespace autotune
