#include "hardware/record_store.h"

#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hardware/record_store_schema.h"
#include "hardware/record_store_session.h"
#include "hardware/record_store_sql.h"

namespace autotune {

absl::string_view FateName(Fate fate) {
  switch (fate) {
    case Fate::kProposed:
      return "proposed";
    case Fate::kMeasured:
      return "measured";
    case Fate::kReused:
      return "reused";
  }
  return "unknown";
}

std::optional<Fate> FateFromName(absl::string_view name) {
  for (const Fate fate : {Fate::kProposed, Fate::kMeasured, Fate::kReused}) {
    if (FateName(fate) == name) return fate;
  }
  return std::nullopt;
}

absl::string_view VersionMatchName(VersionMatch match) {
  return match == VersionMatch::kStrict ? "strict" : "loose";
}

std::optional<VersionMatch> VersionMatchFromName(absl::string_view name) {
  for (const VersionMatch match : {VersionMatch::kStrict, VersionMatch::kLoose}) {
    if (VersionMatchName(match) == name) return match;
  }
  return std::nullopt;
}

absl::StatusOr<std::unique_ptr<RecordStore>> RecordStore::Open(const std::string& url,
                                                               const RecordStoreOptions& options) {
  absl::StatusOr<StoreLocation> location = ParseStoreUrl(url);
  if (!location.ok()) return location.status();
  absl::StatusOr<std::unique_ptr<StoreSession>> session =
      StoreSession::Connect(*std::move(location), options.busy_timeout_ms);
  if (!session.ok()) return session.status();
  if (absl::Status status = MigrateStore(**session); !status.ok()) return status;
  return std::make_unique<SqlRecordStore>(*std::move(session));
}

std::string NewRunId() {
  // The one place where randomness must not repeat: ids of runs that start at the same second.
  std::random_device device;
  const uint64_t random = uint64_t{device()} << 32 | device();
  return absl::StrCat(absl::FormatTime("%Y%m%d-%H%M%S", absl::Now(), absl::UTCTimeZone()), "-",
                      absl::Hex(random & 0xffffffffffffu, absl::kZeroPad12));
}

}  // namespace autotune
