#include "hlo/fingerprint.h"

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

uint64_t Fingerprinter::Get() const {
  uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

}  // namespace autotune
