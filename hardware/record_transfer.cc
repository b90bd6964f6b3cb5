#include "hardware/record_transfer.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "hardware/record_importer.h"
#include "hardware/record_transfer_json.h"
#include "nlohmann/json.hpp"

namespace autotune {
namespace {

using nlohmann::json;

constexpr int kFormVersion = 1;

void AppendLine(const json& object, std::string* lines) {
  absl::StrAppend(lines, object.dump(-1, ' ', false, json::error_handler_t::replace), "\n");
}

absl::Status AddObject(const json& object, RecordImporter& importer) {
  const auto kind = object.is_object() ? object.find("record") : object.end();
  if (kind == object.end() || !kind->is_string()) {
    return absl::InvalidArgumentError("no object with a member \"record\"");
  }
  if (*kind == "candidate") {
    absl::StatusOr<CandidateRecord> record = CandidateFromJson(object);
    return record.ok() ? importer.AddCandidate(*std::move(record)) : record.status();
  }
  if (*kind == "run") {
    const absl::StatusOr<RunRecord> run = RunFromJson(object);
    return run.ok() ? importer.AddRun(*run) : run.status();
  }
  if (*kind == "kernel") {
    const absl::StatusOr<Kernel> kernel = KernelFromJson(object);
    return kernel.ok() ? importer.AddKernel(*kernel) : kernel.status();
  }
  if (*kind != "store") {
    return absl::InvalidArgumentError(absl::StrCat("unknown record ", kind->dump()));
  }
  const auto version = object.find("version");
  if (version != object.end() && *version == kFormVersion) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("this program reads version ", kFormVersion, " of this form"));
}

}  // namespace

absl::StatusOr<std::string> ExportJsonLines(RecordStore& store) {
  std::string lines;
  AppendLine({{"record", "store"}, {"version", kFormVersion}}, &lines);
  const absl::StatusOr<std::vector<RunRecord>> runs = store.ListRuns();
  if (!runs.ok()) return runs.status();
  std::set<uint64_t> kernels;
  for (const RunRecord& run : *runs) {
    AppendLine(RunToJson(run), &lines);
    const auto candidates = store.RunCandidates(run.id);
    if (!candidates.ok()) return candidates.status();
    for (const CandidateRecord& candidate : *candidates) {
      if (!kernels.insert(candidate.kernel_fingerprint).second) continue;
      const absl::StatusOr<Kernel> kernel = store.GetKernel(candidate.kernel_fingerprint);
      if (absl::IsNotFound(kernel.status())) continue;
      if (!kernel.ok()) return kernel.status();
      AppendLine(KernelToJson(*kernel), &lines);
    }
    for (const CandidateRecord& candidate : *candidates) {
      AppendLine(CandidateToJson(candidate), &lines);
    }
  }
  return lines;
}

absl::StatusOr<ImportCounts> ImportJsonLines(RecordStore& store, absl::string_view text,
                                             const std::string& name) {
  RecordImporter importer(store);
  int64_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    const json object = json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
    const absl::Status status =
        object.is_discarded() ? absl::InvalidArgumentError("no JSON") : AddObject(object, importer);
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat(name, ":", number, ": ", status.message()));
    }
  }
  if (absl::Status status = importer.Flush(); !status.ok()) return status;
  return importer.counts();
}

}  // namespace autotune
