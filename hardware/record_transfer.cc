#include "hardware/record_transfer.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "hardware/record_transfer_json.h"
#include "nlohmann/json.hpp"

namespace autotune {
namespace {

using nlohmann::json;

constexpr int kFormVersion = 1;
constexpr size_t kBatchRecords = 1000;

void AppendLine(const json& object, std::string* lines) {
  absl::StrAppend(lines, object.dump(-1, ' ', false, json::error_handler_t::replace), "\n");
}

// Adds lines in batches, since a transaction for every record would be slow.
class Importer {
 public:
  explicit Importer(RecordStore& store) : store_(store) {}

  absl::Status Add(const json& object) {
    const auto kind = object.is_object() ? object.find("record") : object.end();
    if (kind == object.end() || !kind->is_string()) {
      return absl::InvalidArgumentError("no object with a member \"record\"");
    }
    if (*kind == "candidate") return AddCandidate(object);
    if (absl::Status status = Flush(); !status.ok()) return status;
    if (*kind == "run") return AddRun(object);
    if (*kind == "kernel") return AddKernel(object);
    if (*kind != "store") {
      return absl::InvalidArgumentError(absl::StrCat("unknown record ", kind->dump()));
    }
    const auto version = object.find("version");
    if (version != object.end() && *version == kFormVersion) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("this program reads version ", kFormVersion, " of this form"));
  }

  absl::Status Flush() {
    absl::Status status = store_.Append(candidates_);
    candidates_.clear();
    return status;
  }

  const ImportCounts& counts() const { return counts_; }

 private:
  absl::Status AddRun(const json& object) {
    const absl::StatusOr<RunRecord> run = RunFromJson(object);
    if (!run.ok()) return run.status();
    absl::Status status = store_.BeginRun(*run);
    if (absl::IsAlreadyExists(status)) return absl::OkStatus();
    if (status.ok()) ++counts_.runs;
    return status;
  }

  absl::Status AddKernel(const json& object) {
    const absl::StatusOr<Kernel> kernel = KernelFromJson(object);
    if (!kernel.ok()) return kernel.status();
    ++counts_.kernels;
    return store_.PutKernels({*kernel});
  }

  absl::Status AddCandidate(const json& object) {
    absl::StatusOr<CandidateRecord> record = CandidateFromJson(object);
    if (!record.ok()) return record.status();
    candidates_.push_back(*std::move(record));
    ++counts_.candidates;
    return candidates_.size() < kBatchRecords ? absl::OkStatus() : Flush();
  }

  RecordStore& store_;
  std::vector<CandidateRecord> candidates_;
  ImportCounts counts_;
};

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
  Importer importer(store);
  int64_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    const json object = json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
    const absl::Status status =
        object.is_discarded() ? absl::InvalidArgumentError("no JSON") : importer.Add(object);
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat(name, ":", number, ": ", status.message()));
    }
  }
  if (absl::Status status = importer.Flush(); !status.ok()) return status;
  return importer.counts();
}

}  // namespace autotune
