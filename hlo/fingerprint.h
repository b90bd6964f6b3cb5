#ifndef AUTOTUNE_HLO_FINGERPRINT_H_
#define AUTOTUNE_HLO_FINGERPRINT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace autotune {

// A 64-bit fingerprint of a sequence of values, the same in every process, on every platform and in
// every release, because files hold it: FNV-1a (Fowler, Noll, Vo; draft-eastlake-fnv) over the
// values' bytes, finished with the mixer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), so that
// close inputs differ in all bits. Not for adversaries. Thread-compatible.
class Fingerprinter {
 public:
  // The text with its length, so that neighbouring texts do not run together.
  Fingerprinter& AddText(absl::string_view text);
  // Eight bytes, least significant first.
  Fingerprinter& AddInt(uint64_t value);

  uint64_t Get() const;

 private:
  uint64_t state_ = 14695981039346656037u;
};

// A fingerprint as files and messages have it: 16 hexadecimal digits; nullopt for anything else.
std::string FingerprintText(uint64_t fingerprint);
std::optional<uint64_t> FingerprintFromText(absl::string_view text);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_FINGERPRINT_H_
