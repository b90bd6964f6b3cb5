// Numbers and what looks like them: 12, 1.5e-3, nan(0x1), 3x3, 1_1x0_0, b01f_01io->b01f.

#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/charconv.h"
#include "hlo/float_format.h"
#include "hlo/lexer_chars.h"

namespace autotune {
Token Lexer::ScanNumber() {
  if (ScanFloat()) return Token::kDecimal;
  if (ScanDimLabels()) return Token::kDimLabels;
  if (ScanDxD()) return Token::kDxD;
  if (ScanPad()) return Token::kPad;
  if (Is(*start_, kDigit) || (*start_ == '-' && Is(At(start_ + 1), kDigit))) {
    return ScanInteger() ? Token::kInt : Fail("this integer does not fit in 64 bits");
  }
  const absl::string_view rest(start_, static_cast<size_t>(end_ - start_));
  if (rest.substr(0, 4) == "-inf") return Take(Token::kNegInf, 4);
  if (rest.substr(0, 4) == "-nan") {
    position_ = start_ + 4;
    if (At(position_) == '(' && !ScanNanPayload()) return Fail("bad NaN payload");
    return Token::kDecimal;
  }
  if (*start_ == '?') return Take(Token::kQuestion, 1);
  return Fail("unexpected '-'");
}

bool Lexer::ScanInteger() {
  const char* p = start_;
  const bool negative = *p == '-';
  if (negative) ++p;
  uint64_t value = 0;
  for (; p < end_ && Is(*p, kDigit); ++p) {
    if (__builtin_mul_overflow(value, 10u, &value)) return false;
    if (__builtin_add_overflow(value, static_cast<uint64_t>(*p - '0'), &value)) return false;
  }
  if (negative && value > uint64_t{1} << 63) return false;
  int_value_ = static_cast<int64_t>(negative ? 0 - value : value);
  position_ = p;
  return true;
}

bool Lexer::ScanFloat() {
  const char* p = start_;
  if (*p == '-') ++p;
  const char* whole = p;
  while (p < end_ && Is(*p, kDigit)) ++p;
  size_t digits = static_cast<size_t>(p - whole);
  bool point = false;
  if (At(p) == '.') {
    const char* fraction = p + 1;
    const char* q = fraction;
    while (q < end_ && Is(*q, kDigit)) ++q;
    if (digits > 0 || q > fraction) {
      point = true;
      digits += static_cast<size_t>(q - fraction);
      p = q;
    }
  }
  if (digits == 0) return false;
  bool exponent = false;
  if (At(p) == 'e' || At(p) == 'E') {
    const char* q = p + 1;
    if (At(q) == '+' || At(q) == '-') ++q;
    if (Is(At(q), kDigit)) {
      while (q < end_ && Is(*q, kDigit)) ++q;
      exponent = true;
      p = q;
    }
  }
  if (!point && !exponent) return false;
  position_ = p;
  return true;
}

bool Lexer::ScanDimLabels() {
  const char* p = start_;
  const auto run = [this, &p](char a, char b) {
    const char* from = p;
    while (p < end_ && IsDimLabelChar(*p, a, b)) ++p;
    return p - from >= 2;
  };
  if (!run('b', 'f') || At(p) != '_') return false;
  ++p;
  if (!run('i', 'o') || At(p) != '-' || At(p + 1) != '>') return false;
  p += 2;
  if (!run('b', 'f')) return false;
  position_ = p;
  text_ = raw();
  return true;
}

bool Lexer::ScanDxD() {
  const char* p = start_;
  int numbers = 0;
  while (true) {
    const char* from = p;
    while (p < end_ && Is(*p, kDigit)) ++p;
    if (p == from) break;
    ++numbers;
    position_ = p;
    if (At(p) != 'x') break;
    ++p;
  }
  text_ = raw();
  return numbers >= 2;
}

bool Lexer::ScanPad() {
  const char* p = start_;
  const auto number = [this, &p](bool sign) {
    const char* q = p;
    if (sign && At(q) == '-') ++q;
    const char* from = q;
    while (q < end_ && Is(*q, kDigit)) ++q;
    if (q == from) return false;
    p = q;
    return true;
  };
  const auto dimension = [this, &p, &number]() {
    if (!number(true) || At(p) != '_') return false;
    ++p;
    if (!number(true)) return false;
    if (At(p) == '_' && Is(At(p + 1), kDigit)) {
      ++p;
      number(false);
    }
    return true;
  };
  if (!dimension()) return false;
  position_ = p;
  while (At(p) == 'x') {
    ++p;
    if (!dimension()) break;
    position_ = p;
  }
  text_ = raw();
  return true;
}

bool Lexer::ScanNanPayload() {
  const char* p = position_;
  if (At(p) != '(' || At(p + 1) != '0' || At(p + 2) != 'x') return false;
  p += 3;
  uint64_t payload = 0;
  const char* from = p;
  for (; p < end_ && absl::ascii_isxdigit(static_cast<unsigned char>(*p)); ++p) {
    if (payload >> 60 != 0) return false;
    const char c = absl::ascii_tolower(static_cast<unsigned char>(*p));
    payload = payload << 4 | static_cast<uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  if (p == from || At(p) != ')') return false;
  if (payload == 0 || payload > kDoubleNanPayloadMask) return false;
  position_ = p + 1;
  return true;
}

double Lexer::decimal_value() const {
  absl::string_view number = raw();
  const bool negative = number[0] == '-';
  if (number.substr(negative ? 1 : 0, 3) == "nan") {
    uint64_t payload = kDoubleQuietNanPayload;
    const size_t hex = number.find("0x");
    if (hex != absl::string_view::npos) {
      payload = 0;
      for (const char c : number.substr(hex + 2, number.size() - hex - 3)) {
        const char lower = absl::ascii_tolower(static_cast<unsigned char>(c));
        payload =
            payload << 4 | static_cast<uint64_t>(lower <= '9' ? lower - '0' : lower - 'a' + 10);
      }
    }
    const uint64_t bits = (negative ? uint64_t{1} << 63 : 0) | uint64_t{0x7ff} << 52 | payload;
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  double value = 0;
  const absl::from_chars_result result =
      absl::from_chars(number.data(), number.data() + number.size(), value);
  if (result.ec == std::errc::result_out_of_range && std::fabs(value) > 1) {
    return negative ? -std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::infinity();
  }
  return value;
}

}  // namespace autotune
