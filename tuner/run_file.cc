#include "tuner/run_file.h"

#include "absl/strings/str_cat.h"
#include "hardware/atomic_file.h"
#include "nlohmann/json.hpp"
#include "tuner/printable.h"

namespace autotune {
namespace {

using nlohmann::json;

constexpr char kSchema[] = "autotune.run/1";

std::string PathIn(const std::string& out) { return absl::StrCat(out, "/run.json"); }

}  // namespace

std::string RunFile::StoreUrl(const std::string& out) const {
  return store.empty() ? absl::StrCat("sqlite:", out, "/records.db") : store;
}

absl::Status RunFile::Save(const std::string& out) const {
  const json document = {{"schema", kSchema},
                         {"run", run_id},
                         {"store", store},
                         {"model", model},
                         {"options", json::parse(options_json)}};
  return WriteFileAtomically(PathIn(out), absl::StrCat(DumpJson(document), "\n"));
}

absl::StatusOr<RunFile> RunFile::Load(const std::string& out) {
  absl::StatusOr<std::string> text = ReadWholeFile(PathIn(out));
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat(out, " holds no run: there is no ", PathIn(out)));
  }
  if (!text.ok()) return text.status();
  const json document = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  auto is_text = [&](const char* member) {
    return document.contains(member) && document[member].is_string();
  };
  if (!document.is_object() || !is_text("schema") || document["schema"] != kSchema ||
      !is_text("run") || !is_text("store") || !document.contains("options")) {
    return absl::InvalidArgumentError(
        absl::StrCat(PathIn(out), " is not a file of schema ", kSchema));
  }
  RunFile run;
  run.run_id = document["run"].get<std::string>();
  run.store = document["store"].get<std::string>();
  if (is_text("model")) run.model = document["model"].get<std::string>();
  run.options_json = DumpJson(document["options"], -1);
  return run;
}

}  // namespace autotune
