// Feeds arbitrary bytes to the readers of recordings. What they accept holds only modules that the
// verifier accepts, can be written, and reads back to the same bytes. After a '!' follows one
// kernel of the project's own form, which a checksum would else keep from the fuzzer.

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "hardware/recording.h"
#include "hardware/recording_forms.h"
#include "hlo/proto_bytes.h"
#include "proto/recording.pb.h"
#include "tests/fuzz/fuzz_module.h"

namespace {

void ExploreRecording(const autotune::Recording& recording) {
  for (const autotune::RecordedKernel& kernel : recording.kernels()) {
    if (!autotune::VerifyModule(*kernel.kernel().module, 1).empty()) std::abort();
    autotune::ExploreKernel(kernel.kernel());
    kernel.Best();
    kernel.Default();
    for (const autotune::RecordedConfig& config : kernel.configs()) {
      (void)config.ToMeasurement(recording.origin().source);
    }
  }
}

}  // namespace

// One frame of the project's own form.
static void ExploreFrame(absl::string_view bytes) {
  autotune::proto::RecordedKernelRecord record;
  if (!autotune::ParseProtoBytes(bytes, &record).ok()) return;
  const absl::StatusOr<autotune::Kernel> kernel = autotune::KernelFromProto(record.kernel());
  if (!kernel.ok()) return;
  autotune::RecordedKernel recorded(*kernel);
  for (const autotune::proto::ConfigRecord& config : record.configs()) {
    absl::StatusOr<autotune::RecordedConfig> read = autotune::RecordedConfigFromProto(config);
    if (read.ok()) recorded.Add(*std::move(read));
  }
  autotune::Recording recording({"tpu-v3", "", "", autotune::TimeSource::kHardware});
  autotune::RecordedKernel& target = recording.FindOrAdd(*kernel);
  for (const autotune::RecordedConfig& config : recorded.configs()) target.Add(config);
  ExploreRecording(recording);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (size > 0 && data[0] == '!') {
    ExploreFrame(bytes.substr(1));
    return 0;
  }
  // A small file may hold gigabytes of zeros; what is inside is explored uncompressed.
  if (autotune::IsGzip(bytes)) return 0;
  (void)autotune::Recording::LooksLikeRecording(bytes);
  const absl::StatusOr<autotune::Recording> recording = autotune::Recording::Parse(bytes, "input");
  if (!recording.ok()) return 0;
  ExploreRecording(*recording);
  const absl::StatusOr<std::string> written = autotune::WriteOwnForm(*recording);
  if (!written.ok()) std::abort();
  const absl::StatusOr<autotune::Recording> again = autotune::Recording::Parse(*written, "written");
  if (!again.ok()) std::abort();
  const absl::StatusOr<std::string> rewritten = autotune::WriteOwnForm(*again);
  if (!rewritten.ok() || *rewritten != *written) std::abort();
  return 0;
}
