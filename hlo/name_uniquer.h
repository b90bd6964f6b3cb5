#ifndef AUTOTUNE_HLO_NAME_UNIQUER_H_
#define AUTOTUNE_HLO_NAME_UNIQUER_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"

namespace autotune {

// A name that every reader of HLO text accepts: characters that no name may have become `_`, names
// of element types get a `_` behind them, and a leading `__` (reserved for backends, but for
// `__xla_`) becomes `a_`.
std::string SanitizedName(absl::string_view name);

// True if SanitizedName(name) is the name itself. Faster.
bool IsSanitizedName(absl::string_view name);

// Hands out names of which no two are equal, as XLA does: the number behind the last `.` of a name
// is a suffix, and a name that is taken gets the next free one. Not thread-safe.
class NameUniquer {
 public:
  // The name itself, in canonical form, if it is free, else with another suffix; takes it.
  //
  // Returns true and leaves *renamed alone if that is `name` unchanged. `name` must be sanitized
  // and outlive this object.
  bool Take(absl::string_view name, std::string* renamed);

 private:
  struct Suffixes {
    // Suffixes that were taken. Most names are used once, so the first needs no set.
    int64_t first = 0;
    int64_t next = 0;
    absl::flat_hash_set<int64_t> others;
    bool any = false;

    bool Insert(int64_t suffix);
  };

  absl::flat_hash_map<absl::string_view, Suffixes> suffixes_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HLO_NAME_UNIQUER_H_
