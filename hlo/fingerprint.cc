#include "hlo/fingerprint.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace autotune {
namespace {

constexpr uint64_t kFnvPrime = 1099511628211u;

}  // namespace

Fingerprinter& Fingerprinter::AddInt(uint64_t value) {
  for (int byte = 0; byte < 8; ++byte) {
    state_ = (state_ ^ (value & 0xff)) * kFnvPrime;
    value >>= 8;
  }
  return *this;
}

Fingerprinter& Fingerprinter::AddText(absl::string_view text) {
  AddInt(text.size());
  for (const char c : text) state_ = (state_ ^ static_cast<unsigned char>(c)) * kFnvPrime;
  return *this;
}

std::string FingerprintText(uint64_t fingerprint) {
  return absl::StrCat(absl::Hex(fingerprint, absl::kZeroPad16));
}

std::optional<uint64_t> FingerprintFromText(absl::string_view text) {
  uint64_t value = 0;
  if (text.size() != 16 || !absl::SimpleHexAtoi(text, &value)) return std::nullopt;
  return value;
}

uint64_t Fingerprinter::Get() const {
  uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

}  // namespace autotune
