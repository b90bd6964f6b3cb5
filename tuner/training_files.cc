#include "tuner/training_files.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "costmodel/network_json.h"
#include "hardware/atomic_file.h"
#include "tuner/command_status.h"

namespace autotune {
namespace {

namespace fs = std::filesystem;

bool IsRecordingFile(const std::string& path) {
  const fs::path extension = fs::path(path).extension();
  return extension == ".rec" || extension == ".pb";
}

// The files whose names are wanted, in the order of their paths.
template <typename Iterator>
std::vector<std::string> FilesIn(const std::string& folder, bool (*wanted)(const std::string&)) {
  std::vector<std::string> files;
  std::error_code error;
  for (auto entry = Iterator(folder, error); !error && entry != Iterator();
       entry.increment(error)) {
    std::error_code of_entry;  // a pipe would be waited for
    const bool is_file = entry->is_regular_file(of_entry);
    if (is_file && wanted(entry->path().string())) files.push_back(entry->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// A file that is named twice would count twice.
class OnlyOnce {
 public:
  bool IsNew(const std::string& path) {
    std::error_code error;
    const fs::path canonical = fs::weakly_canonical(path, error);
    return seen_.insert(error ? path : canonical.string()).second;
  }

 private:
  std::set<std::string> seen_;
};

}  // namespace

bool IsNpzFile(const std::string& path) { return fs::path(path).extension() == ".npz"; }

absl::StatusOr<nlohmann::json> ReadJsonFile(const std::string& path) {
  absl::StatusOr<std::string> text = ReadWholeFile(path);
  if (!text.ok()) return WithExitCode(kExitBadInput, text.status());
  nlohmann::json json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_discarded()) return json;
  return BadInput(absl::StrCat(path, " is no JSON"));
}

absl::Status ReadTrainerConfig(const std::string& path, const std::string& task,
                               TrainerOptions* options) {
  if (path.empty()) return absl::OkStatus();
  absl::StatusOr<nlohmann::json> json = ReadJsonFile(path);
  if (!json.ok()) return json.status();
  const bool report = json->is_object() && json->contains("options");  // a training.json
  if (report && json->value("task", nlohmann::json(task)) != task) {
    return BadInput(absl::StrCat(path, " is of a training for another --task"));
  }
  const absl::Status status = UpdateFromJson(report ? (*json)["options"] : *json, options);
  if (status.ok()) return status;
  return BadInput(absl::StrCat(path, ": ", status.message()));
}

absl::StatusOr<std::vector<FusionPair>> ExpandFusionFolders(absl::Span<const std::string> folders) {
  std::vector<FusionPair> pairs;
  OnlyOnce once;
  for (const std::string& folder : folders) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) {
      return WithExitCode(kExitBadInput,
                          absl::NotFoundError(absl::StrCat(folder, " is not there, or no folder")));
    }
    for (FusionPair& pair : FusionPairsOf(folder)) {
      if (once.IsNew(pair.recording)) pairs.push_back(std::move(pair));
    }
  }
  return pairs;
}

absl::StatusOr<std::vector<std::string>> ExpandDataFiles(absl::Span<const std::string> paths) {
  std::vector<std::string> files;
  OnlyOnce once;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::exists(path, error)) {
      return WithExitCode(kExitBadInput, absl::NotFoundError(absl::StrCat(path, " is not there")));
    }
    if (!fs::is_directory(path, error)) {
      if (once.IsNew(path)) files.push_back(path);
      continue;
    }
    std::vector<std::string> found = FilesIn<fs::directory_iterator>(path, IsRecordingFile);
    if (!found.empty() && !FilesIn<fs::directory_iterator>(path, IsNpzFile).empty()) {
      return BadInput(absl::StrCat(
          path, " holds recordings (*.rec, *.pb) and .npz files; name those of one kind"));
    }
    if (found.empty()) found = FilesIn<fs::recursive_directory_iterator>(path, IsNpzFile);
    if (found.empty()) {
      return WithExitCode(kExitBadInput, absl::NotFoundError(absl::StrCat(
                                             path, " holds no recording (*.rec, *.pb, *.npz)")));
    }
    for (std::string& file : found) {
      if (once.IsNew(file)) files.push_back(std::move(file));
    }
  }
  return files;
}

}  // namespace autotune
