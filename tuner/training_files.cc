#include "tuner/training_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tuner/command_status.h"

namespace autotune {

absl::StatusOr<std::vector<std::string>> ExpandDataFiles(absl::Span<const std::string> paths) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::exists(path, error)) {
      return WithExitCode(kExitBadInput, absl::NotFoundError(absl::StrCat(path, " is not there")));
    }
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    const size_t before = files.size();
    for (auto entry = fs::directory_iterator(path, error);
         !error && entry != fs::directory_iterator(); entry.increment(error)) {
      if (entry->path().extension() == ".rec") files.push_back(entry->path().string());
    }
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
    if (files.size() == before) {
      return WithExitCode(kExitBadInput,
                          absl::NotFoundError(absl::StrCat(path, " holds no recording (*.rec)")));
    }
  }
  return files;
}

}  // namespace autotune
