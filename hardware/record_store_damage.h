#ifndef AUTOTUNE_HARDWARE_RECORD_STORE_DAMAGE_H_
#define AUTOTUNE_HARDWARE_RECORD_STORE_DAMAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "hardware/record_store.h"
#include "hardware/record_store_session.h"
#include "soci/soci.h"

namespace autotune {

// A damaged row, with what finds it again.
struct DamagedRow {
  enum class Kind {
    kFile,        // the database file itself, which no statement can mend
    kRun,         // `run`
    kContext,     // `number` is its id
    kCandidate,   // `run` and, in `number`, the sequence
    kLostRun,     // the same; the candidate is well, and its run is not stored
    kCheckpoint,  // of `run`
    kKernel,      // `number` is the fingerprint
  };
  Kind kind = Kind::kFile;
  DamagedRecord named;
  std::string run;
  int64_t number = 0;
};

// Reads everything; what is damaged, runs and candidates in order. Throws soci::soci_error.
std::vector<DamagedRow> FindDamage(soci::session& sql, StoreLocation::Kind kind);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_RECORD_STORE_DAMAGE_H_
