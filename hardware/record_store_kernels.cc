#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "hardware/record_store_rows.h"
#include "hardware/recording_forms.h"

namespace autotune {

std::string KernelText(const Kernel& kernel) {
  proto::KernelRecord record;
  KernelToProto(kernel, &record);
  return absl::Base64Escape(Gzip(SerializeDeterministically(record)));
}

absl::StatusOr<Kernel> KernelFromText(const std::string& name, const std::string& text) {
  std::string compressed;
  proto::KernelRecord record;
  if (!absl::Base64Unescape(text, &compressed)) {
    return absl::DataLossError(absl::StrCat("kernel ", name, ": no base64 text"));
  }
  const absl::StatusOr<std::string> bytes = Gunzip(compressed, absl::StrCat("kernel ", name));
  if (!bytes.ok()) return absl::DataLossError(bytes.status().message());
  if (!record.ParseFromString(*bytes)) {
    return absl::DataLossError(absl::StrCat("kernel ", name, ": cannot be parsed"));
  }
  return KernelFromProto(record);
}

}  // namespace autotune
