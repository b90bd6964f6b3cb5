#ifndef AUTOTUNE_TUNER_BEST_CONFIG_H_
#define AUTOTUNE_TUNER_BEST_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hardware/config.h"
#include "hardware/measurement.h"
#include "nlohmann/json_fwd.hpp"
#include "tuner/tuning_report.h"

namespace autotune {

// The result of a run as data: what `best.json` holds and `autotune apply` reads. A plain value.
struct BestConfig {
  struct KernelEntry {
    std::string name;
    std::string kind;
    int64_t count = 1;
    uint64_t fingerprint = 0;
    // The best found; absent where nothing has a time. An opaque one cannot be applied.
    std::optional<Config> config;
    std::optional<double> seconds;
    // The compiler's own choice, as far as it is known.
    std::optional<Config> default_config;
    std::optional<double> default_seconds;
  };

  std::string program;       // path
  std::string program_name;  // of the module
  std::string run_id;
  std::string device;
  std::string backend;
  std::string versions;
  TimeSource time_source = TimeSource::kHardware;
  std::vector<KernelEntry> kernels;

  static BestConfig FromReport(const TuningReport& report);

  // {"schema": "autotune.best/1", "program": ..., "kernels": [{"name": ..., "fingerprint": "16 hex
  // digits", "config": {"tile": ...}, "seconds": ...}, ...]}; members without a value are left out.
  nlohmann::json ToJson() const;
  // The inverse of ToJson. InvalidArgument, naming the member, for anything else.
  static absl::StatusOr<BestConfig> FromJson(const nlohmann::json& json);
  // The same from text; `name` stands for the file's name in errors.
  static absl::StatusOr<BestConfig> Parse(const std::string& text, const std::string& name);
};

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_BEST_CONFIG_H_
