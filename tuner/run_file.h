#ifndef AUTOTUNE_TUNER_RUN_FILE_H_
#define AUTOTUNE_TUNER_RUN_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace autotune {

// OUT/run.json: what `--resume` and `autotune report` need to find a run again. A plain value.
struct RunFile {
  std::string run_id;
  std::string store;         // URL; empty stands for OUT/records.db, wherever OUT is now
  std::string options_json;  // OptionsToJson, with absolute paths
  std::string model;         // ModelFingerprint of the model that guides it; "" for none

  // The store's URL for the run in `out`.
  std::string StoreUrl(const std::string& out) const;

  // {"schema": "autotune.run/1", "run": ..., "store": ..., "model": ..., "options": {...}}, written
  // aside and renamed.
  absl::Status Save(const std::string& out) const;
  // NotFound if the folder holds no run.
  static absl::StatusOr<RunFile> Load(const std::string& out);
};

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_RUN_FILE_H_
