#ifndef AUTOTUNE_HARDWARE_RECORD_TRANSFER_JSON_H_
#define AUTOTUNE_HARDWARE_RECORD_TRANSFER_JSON_H_

#include "absl/status/statusor.h"
#include "hardware/record_store.h"
#include "nlohmann/json_fwd.hpp"

namespace autotune {

// Records as JSON objects and back. Fingerprints are hexadecimal texts, a kernel is base64 of a
// gzip-compressed proto::KernelRecord. The readers fail with InvalidArgument, naming the member.
nlohmann::json RunToJson(const RunRecord& run);
absl::StatusOr<RunRecord> RunFromJson(const nlohmann::json& json);

nlohmann::json CandidateToJson(const CandidateRecord& record);
absl::StatusOr<CandidateRecord> CandidateFromJson(const nlohmann::json& json);

nlohmann::json KernelToJson(const Kernel& kernel);
absl::StatusOr<Kernel> KernelFromJson(const nlohmann::json& json);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_RECORD_TRANSFER_JSON_H_
