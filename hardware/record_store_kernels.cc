#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "hardware/record_store_rows.h"
#include "hardware/recording_forms.h"

namespace autotune {

KernelRow RowFromKernel(const Kernel& kernel) {
  proto::KernelRecord record;
  KernelToProto(kernel, &record);
  KernelRow row;
  row.fingerprint = static_cast<int64_t>(kernel.fingerprint);
  row.name = CleanText(kernel.name);
  row.kernel = absl::Base64Escape(Gzip(SerializeDeterministically(record)));
  row.checksum = TextChecksum({row.name, row.kernel});
  return row;
}

absl::StatusOr<Kernel> KernelFromRow(const KernelRow& row) {
  if (TextChecksum({row.name, row.kernel}) != row.checksum) {
    return absl::DataLossError("its checksum is wrong");
  }
  std::string compressed;
  proto::KernelRecord record;
  if (!absl::Base64Unescape(row.kernel, &compressed)) return absl::DataLossError("no base64 text");
  const absl::StatusOr<std::string> bytes = Gunzip(compressed, "its module");
  if (!bytes.ok()) return absl::DataLossError(bytes.status().message());
  if (!record.ParseFromString(*bytes)) return absl::DataLossError("it cannot be parsed");
  absl::StatusOr<Kernel> kernel = KernelFromProto(record);
  if (kernel.ok() && static_cast<int64_t>(kernel->fingerprint) != row.fingerprint) {
    return absl::DataLossError("its fingerprint is that of another kernel");
  }
  return kernel;
}

}  // namespace autotune
