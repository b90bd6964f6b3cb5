#ifndef AUTOTUNE_HARDWARE_JOURNALED_STORE_H_
#define AUTOTUNE_HARDWARE_JOURNALED_STORE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "hardware/record_store.h"

namespace autotune {

// How a JournaledStore waits for its store.
struct JournalOptions {
  // The journal's file (see RecordJournal); made if missing.
  std::string path;
  // How long a call that cannot go on without the store (BeginRun, look-ups, FinishRun) tries
  // again.
  double patience_seconds = 60;
  // How long Append tries again before the records stay in the journal and the run goes on.
  double append_patience_seconds = 3;
  // Append stores what waits in the journal at most so often, so that many small ones cost one
  // transaction; 0: always. What only waits is safe, and other processes see it that much later.
  double store_every_seconds = 0;
  // Told when results begin to wait, when the store has them, what a call that cannot go on without
  // the store waits for, and of damaged lines of the journal that were set aside. May be null.
  std::function<void(const std::string&)> notify;
};

// A record store behind a local journal: Append puts records into the journal (synced), then into
// the store, and is content with the journal while the store is Unavailable or its disk is full
// (ResourceExhausted); they follow with the next Append that gets through, or with FinishRun. So a
// database that goes away stops no run and loses nothing. Calls that need the store are tried again
// with growing pauses, on a new connection where the old one broke. If neither the journal nor the
// store takes records, Append fails and they are in neither. Thread-safe.
//
// The store's error codes, and RecordJournal::Open's. FinishRun says how many results still wait
// and where.
absl::StatusOr<std::unique_ptr<RecordStore>> OpenJournaledStore(std::unique_ptr<RecordStore> store,
                                                                JournalOptions options);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_JOURNALED_STORE_H_
