#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hardware/atomic_file.h"
#include "hardware/npz_file.h"
#include "hardware/record_transfer.h"
#include "hardware/recording.h"
#include "hardware/recording_forms.h"
#include "hlo/fingerprint.h"
#include "tuner/best_config.h"
#include "tuner/command_records.h"
#include "tuner/command_records_npz.h"
#include "tuner/command_status.h"
#include "tuner/printable.h"

namespace autotune {
namespace {

absl::StatusOr<Recording> DeviceRecording(RecordStore& store, const RecordsOptions& options) {
  if (options.device.empty()) {
    return WrongUse(absl::StrCat("--to ", options.form, " needs --device, such as tpu-v3"));
  }
  MeasurementContext context;
  context.device = options.device;
  if (options.source == "estimate") {
    context.source = TimeSource::kEstimate;
  } else if (options.source != "hardware") {
    return WrongUse(
        absl::StrCat("--times takes hardware or estimate; got \"", options.source, "\""));
  }
  absl::StatusOr<Recording> recording = ExportRecording(store, context);
  if (!recording.ok()) return recording.status();
  if (recording->kernels().empty()) {
    return WithExitCode(kExitBadInput,
                        absl::NotFoundError(absl::StrCat(
                            "the store holds no ", options.source, " times of ", options.device,
                            " for a kernel whose module is stored (of CSV and of TpuGraphs' .npz "
                            "there are no modules)")));
  }
  return recording;
}

absl::StatusOr<std::string> RecordingBytes(RecordStore& store, const RecordsOptions& options) {
  const absl::StatusOr<Recording> recording = DeviceRecording(store, options);
  if (!recording.ok()) return recording.status();
  if (options.form == "recording") return recording->Serialize();
  absl::StatusOr<std::string> bytes = WriteTuningData(*recording);
  return bytes.ok() ? bytes : WithExitCode(kExitBadInput, bytes.status());
}

// A recording has no run; the same file always gets the same one.
absl::StatusOr<ImportCounts> AddRecording(RecordStore& store, const std::string& content,
                                          const std::string& path) {
  const std::string id =
      absl::StrCat("import-", FingerprintText(Fingerprinter().AddText(content).Get()));
  const int64_t now = absl::ToUnixMicros(absl::Now());
  if (LooksLikeNpz(content)) return ImportNpz(store, content, path, id, now);
  absl::StatusOr<Recording> recording = Recording::Parse(content, path);
  if (!recording.ok()) return WithExitCode(kExitBadInput, recording.status());
  return ImportRecording(store, *recording, id, now);
}

// Adds a file of text: CSV, or JSON lines.
absl::StatusOr<ImportCounts> AddText(RecordStore& store, const std::string& content,
                                     const std::string& path) {
  if (LooksLikeRecordCsv(content)) return ImportCsv(store, content, path);
  constexpr absl::string_view kBeforeAnObject = "\xEF\xBB\xBF \t\r\n";
  const size_t first = content.find_first_not_of(kBeforeAnObject.data());
  if (first == std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": the file is empty"));
  }
  if (content[first] == '{') return ImportJsonLines(store, content, path);
  return absl::InvalidArgumentError(
      absl::StrCat(path,
                   ": none of what records are imported from: JSON lines or CSV of `records "
                   "export`, a recording, TpuGraphs' TuningData, .npz"));
}

absl::StatusOr<ImportCounts> AddFile(RecordStore& store, const std::string& path) {
  absl::StatusOr<std::string> content = ReadWholeFile(path);
  if (!content.ok()) return WithExitCode(kExitBadInput, content.status());
  const bool recording = LooksLikeNpz(*content) || Recording::LooksLikeRecording(*content);
  absl::StatusOr<ImportCounts> counts =
      recording ? AddRecording(store, *content, path) : AddText(store, *content, path);
  if (absl::IsInvalidArgument(counts.status()) || absl::IsAlreadyExists(counts.status())) {
    return WithExitCode(kExitBadInput, counts.status());
  }
  return counts;
}

}  // namespace

absl::Status ExportRecords(RecordStore& store, const RecordsOptions& options, std::ostream& out) {
  if (options.form == "npz") {
    if (options.out == "-")
      return WrongUse("--to npz needs a folder as --out, for a file a kernel");
    const absl::StatusOr<Recording> recording = DeviceRecording(store, options);
    if (!recording.ok()) return recording.status();
    return ExportNpz(*recording, options.out, out);
  }
  absl::StatusOr<std::string> content = std::string();
  if (options.form == "jsonl") {
    content = ExportJsonLines(store);
  } else if (options.form == "csv") {
    content = ExportCsv(store);
  } else if (options.form == "recording" || options.form == "pb") {
    content = RecordingBytes(store, options);
  } else {
    return WrongUse(
        absl::StrCat("--to takes jsonl, csv, recording, pb or npz; got \"", options.form, "\""));
  }
  if (!content.ok()) return content.status();
  if (options.out == "-") {
    out << *content;
    return absl::OkStatus();
  }
  return WriteFileAtomically(options.out, *content);
}

absl::Status ImportRecords(RecordStore& store, const RecordsOptions& options, std::ostream& out) {
  for (const std::string& path : options.files) {
    absl::StatusOr<ImportCounts> counts = AddFile(store, path);
    if (!counts.ok()) return counts.status();
    out << PrintableLine(path) << ": " << CountsText(*counts) << " added\n";
  }
  return absl::OkStatus();
}

}  // namespace autotune
