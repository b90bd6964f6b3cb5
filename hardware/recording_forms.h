#ifndef AUTOTUNE_HARDWARE_RECORDING_FORMS_H_
#define AUTOTUNE_HARDWARE_RECORDING_FORMS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hardware/recording.h"
#include "proto/recording.pb.h"

namespace autotune {

// The file forms behind Recording::Parse and Recording::Serialize. `name` stands for the file in
// errors, which are InvalidArgument.

// True if the bytes start with the gzip magic number.
bool IsGzip(absl::string_view bytes);
// Uncompresses; fails on damage, on a cut end, and beyond kMaxUncompressedBytes.
absl::StatusOr<std::string> Gunzip(absl::string_view bytes, const std::string& name);
// Equal inputs give equal bytes.
std::string Gzip(absl::string_view bytes);

// Recordings of more than this are refused, so that a small hostile file cannot fill the memory.
inline constexpr size_t kMaxUncompressedBytes = size_t{4} << 30;

// The message's bytes, equal for equal messages (maps are sorted).
std::string SerializeDeterministically(const google::protobuf::MessageLite& message);

// The project's own form (proto/recording.proto), uncompressed.
bool IsOwnForm(absl::string_view bytes);
absl::StatusOr<Recording> ReadOwnForm(absl::string_view bytes, const std::string& name);
absl::StatusOr<std::string> WriteOwnForm(const Recording& recording);

// TpuGraphs' TuningData or ModuleTuningData.
absl::StatusOr<Recording> ReadTuningData(absl::string_view bytes, const std::string& name);
// A recording of hardware times as a TuningData message, uncompressed; equal recordings give equal
// bytes. Its times are whole nanoseconds; device, backend and versions have no place in it, nor
// have messages of failures and seconds of compiling. InvalidArgument, naming the kernel, for
// estimates, for a time that rounds to 0, and for configurations of fusion, which the form cannot
// hold.
absl::StatusOr<std::string> WriteTuningData(const Recording& recording);
// True if the bytes can be the start of one of them that holds at least one run.
bool IsTuningData(absl::string_view bytes);

// The kernel of a recorded module: the kernel that it is, or, for a whole program (recorded with
// layouts), one of the kind "program". InvalidArgument for a module that the verifier refuses: a
// recording comes from anywhere, and what uses kernels trusts them.
absl::StatusOr<Kernel> KernelOfRecordedModule(const proto::HloModuleProto& module);

// A kernel as a message and back. The fingerprint is computed anew from the module.
void KernelToProto(const Kernel& kernel, proto::KernelRecord* record);
absl::StatusOr<Kernel> KernelFromProto(const proto::KernelRecord& record);

// A configuration with its runs as a message and back.
void RecordedConfigToProto(const RecordedConfig& config, proto::ConfigRecord* record);
absl::StatusOr<RecordedConfig> RecordedConfigFromProto(const proto::ConfigRecord& record);

// Bounds as a message and back; InvalidArgument for negative bounds.
void TileBoundsToProto(const TileBounds& bounds, proto::TileSizeConfig* tile);
absl::StatusOr<TileBounds> TileBoundsFromProto(const proto::TileSizeConfig& tile);
absl::StatusOr<LayoutConfig> LayoutFromProto(const proto::LayoutConfig& layout);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_RECORDING_FORMS_H_
