#include "tuner/command_records_npz.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "costmodel/npz_examples.h"
#include "costmodel/recorded_examples.h"
#include "hardware/atomic_file.h"
#include "hardware/npz_file.h"
#include "hlo/fingerprint.h"
#include "tuner/best_config.h"
#include "tuner/output_files.h"
#include "tuner/printable.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

constexpr char kRecords[] = "autotune_recording";

// A name of a kernel as part of a file's name: it comes from a program.
std::string FileName(const Kernel& kernel) {
  std::string name = kernel.name.substr(0, 80);
  for (char& c : name) {
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
    if (!plain && c != '.') c = '_';
  }
  if (name.empty() || name[0] == '.') name.insert(0, "_");
  return absl::StrCat(name, "-", FingerprintText(kernel.fingerprint), ".npz");
}

// The arrays of the kernel's example, if there is one.
absl::StatusOr<std::vector<NamedNpyArray>> ExampleArrays(const RecordedKernel& kernel,
                                                         const std::string& device,
                                                         const std::string& path) {
  std::vector<NamedNpyArray> arrays;
  absl::StatusOr<std::optional<KernelExample>> example =
      MakeExample(kernel, kernel.kernel().name, device, AnalyticalConstants());
  // Of a device that is no TPU there are no features.
  if (!example.ok() || !example->has_value()) return arrays;
  if (absl::Status status = WriteNpzExample(**example, path); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<NpzReader>> written = NpzReader::Open(path);
  if (!written.ok()) return written.status();
  for (const std::string& name : (*written)->names()) {
    absl::StatusOr<NpyArray> array = (*written)->Read(name);
    if (!array.ok()) return array.status();
    arrays.push_back({name, *std::move(array)});
  }
  return arrays;
}

absl::Status WriteKernel(const Recording& recording, const RecordedKernel& kernel,
                         const std::string& path) {
  absl::StatusOr<std::vector<NamedNpyArray>> arrays =
      ExampleArrays(kernel, recording.origin().device, path);
  if (!arrays.ok()) return arrays.status();
  Recording alone(recording.origin());
  RecordedKernel& copy = alone.FindOrAdd(kernel.kernel());
  for (const RecordedConfig& config : kernel.configs()) copy.Add(config);
  absl::StatusOr<std::string> bytes = alone.Serialize();
  if (!bytes.ok()) return bytes.status();
  const auto size = static_cast<int64_t>(bytes->size());
  arrays->push_back({kRecords, {NpyType::kUint8, {size}, *std::move(bytes)}});
  const absl::StatusOr<std::string> file = SerializeNpz(*arrays);
  return file.ok() ? WriteFileAtomically(path, *file) : file.status();
}

}  // namespace

absl::Status ExportNpz(const Recording& recording, const std::string& folder, std::ostream& out) {
  if (absl::Status status = MakeOutputDirectory(folder); !status.ok()) return status;
  for (const RecordedKernel& kernel : recording.kernels()) {
    const std::string path = absl::StrCat(folder, "/", FileName(kernel.kernel()));
    if (absl::Status status = WriteKernel(recording, kernel, path); !status.ok()) return status;
  }
  const auto count = static_cast<int64_t>(recording.kernels().size());
  out << PrintableLine(folder) << ": " << CountOf(count, "kernel")
      << (count == 1 ? "\n" : ", a file each\n");
  return absl::OkStatus();
}

absl::StatusOr<ImportCounts> ImportNpz(RecordStore& store, std::string bytes,
                                       const std::string& path, const std::string& run_id,
                                       int64_t unix_micros) {
  absl::StatusOr<std::unique_ptr<NpzReader>> npz = NpzReader::FromBytes(std::move(bytes), path);
  if (!npz.ok()) return npz.status();
  if ((*npz)->Has(kRecords)) {
    absl::StatusOr<NpyArray> array = (*npz)->Read(kRecords);
    if (!array.ok()) return array.status();
    absl::StatusOr<Recording> recording = Recording::Parse(array->data, path);
    if (!recording.ok()) return recording.status();
    return ImportRecording(store, *recording, run_id, unix_micros);
  }
  if (IsTpuGraphsTileFile(**npz)) {
    const std::string kernel = std::filesystem::path(path).stem().string();
    return ImportTpuGraphsTiles(store, **npz, path, kernel, run_id, unix_micros);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      path,
      " is neither what `records export --to npz` writes nor a file of TpuGraphs' tile collection",
      (*npz)->Has("node_config_feat") ? ": that of its layouts holds no kernels" : ""));
}

}  // namespace autotune
