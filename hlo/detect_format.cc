#include <array>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "hlo/lexer.h"
#include "hlo/read_module.h"

namespace autotune {
namespace {

constexpr size_t kTextSample = 4096;

// Goes over the fields of a protobuf message without a schema. Stops at the first byte that cannot
// be one.
class WireReader {
 public:
  explicit WireReader(absl::string_view bytes) : rest_(bytes) {}

  // Moves to the next field; false at the end or at an error.
  bool Next() {
    uint64_t tag;
    if (rest_.empty() || !Varint(&tag)) return false;
    number_ = tag >> 3;
    type_ = static_cast<int>(tag & 7);
    payload_ = {};
    uint64_t size;
    switch (type_) {
      case 0:
        return Varint(&value_);
      case 1:
        return Skip(8);
      case 2:
        if (!Varint(&size) || size > rest_.size()) return Fail();
        payload_ = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return number_ != 0 || Fail();
      case 5:
        return Skip(4);
      default:
        return Fail();
    }
  }

  uint64_t number() const { return number_; }
  bool is_bytes() const { return type_ == 2; }
  absl::string_view payload() const { return payload_; }
  bool failed() const { return failed_; }

 private:
  bool Fail() {
    failed_ = true;
    return false;
  }
  bool Skip(size_t size) {
    if (rest_.size() < size) return Fail();
    rest_.remove_prefix(size);
    return number_ != 0 || Fail();
  }
  bool Varint(uint64_t* value) {
    *value = 0;
    for (unsigned shift = 0; shift < 70 && !rest_.empty(); shift += 7) {
      const uint8_t byte = static_cast<uint8_t>(rest_[0]);
      rest_.remove_prefix(1);
      *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return Fail();
  }

  absl::string_view rest_;
  absl::string_view payload_;
  uint64_t number_ = 0;
  uint64_t value_ = 0;
  int type_ = 0;
  bool failed_ = false;
};

bool IsPrintable(absl::string_view text) {
  for (const char c : text) {
    const unsigned char u = static_cast<unsigned char>(c);
    if (u < ' ' && c != '\n' && c != '\t' && c != '\r') return false;
  }
  return true;
}

// A name, and instructions that have opcodes.
bool LooksLikeComputation(absl::string_view bytes) {
  WireReader fields(bytes);
  while (fields.Next()) {
    if (fields.number() != 2) continue;
    if (!fields.is_bytes()) return false;
    WireReader instruction(fields.payload());
    while (instruction.Next()) {
      if (instruction.number() != 2) continue;
      return instruction.is_bytes() && !instruction.payload().empty() &&
             IsPrintable(instruction.payload());
    }
    return false;
  }
  return false;
}

bool LooksLikeModule(absl::string_view bytes) {
  WireReader fields(bytes);
  while (fields.Next()) {
    if (fields.number() == 1 && (!fields.is_bytes() || !IsPrintable(fields.payload())))
      return false;
    if (fields.number() == 3) return fields.is_bytes() && LooksLikeComputation(fields.payload());
  }
  return false;
}

struct Outline {
  absl::string_view first;  // the payload of the first field 1
  std::array<int, 8> counts{};
};

Outline OutlineOf(absl::string_view bytes) {
  Outline outline;
  WireReader fields(bytes);
  while (fields.Next()) {
    if (fields.number() < outline.counts.size()) ++outline.counts[fields.number()];
    if (fields.number() == 1 && outline.counts[1] == 1 && fields.is_bytes()) {
      outline.first = fields.payload();
    }
  }
  return outline;
}

std::optional<HloFormat> DetectBinary(absl::string_view content) {
  if (absl::StartsWith(content, "ML\xefR")) return HloFormat::kStableHlo;
  if (LooksLikeModule(content)) return HloFormat::kModuleProto;
  const Outline outer = OutlineOf(content);
  if (LooksLikeModule(outer.first)) {
    return outer.counts[2] > 0 && outer.counts[3] == 0 ? HloFormat::kWithConfig
                                                       : HloFormat::kHloProto;
  }
  const Outline inner = OutlineOf(outer.first);
  if (!LooksLikeModule(inner.first)) return std::nullopt;
  const bool recording = outer.counts[1] > 1 || inner.counts[2] > 0 || inner.counts[3] > 1;
  return recording && outer.counts[4] == 0 ? HloFormat::kTuningData : HloFormat::kSnapshot;
}

std::optional<HloFormat> DetectText(absl::string_view content) {
  absl::string_view text = absl::StripLeadingAsciiWhitespace(content);
  for (const absl::string_view start :
       {"module @", "module {", "module attributes", "builtin.module", "\"builtin.module\"", "#loc",
        "!vhlo", "func.func", "#sdy"}) {
    if (absl::StartsWith(text, start)) return HloFormat::kStableHlo;
  }
  // Fields with which protobuf text begins.
  const size_t word_end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  if (word_end != absl::string_view::npos && word_end > 0) {
    const absl::string_view word = text.substr(0, word_end);
    absl::string_view after = absl::StripLeadingAsciiWhitespace(text.substr(word_end));
    const bool message = absl::StartsWith(after, "{") || absl::StartsWith(after, ": {");
    const bool scalar = absl::StartsWith(after, ":") && !message;
    if (message &&
        (word == "hlo_module" || word == "computations" || word == "buffer_assignment")) {
      return HloFormat::kTextProto;
    }
    if (scalar && (word == "name" || word == "id" || word == "entry_computation_name" ||
                   word == "entry_computation_id")) {
      return HloFormat::kTextProto;
    }
  }
  const Lexer lexer(text);
  switch (lexer.kind()) {
    case Token::kEnd:
    case Token::kError:
      return std::nullopt;
    case Token::kIdentifier:
    case Token::kName: {
      // A computation, an instruction, or prose.
      const Token next = lexer.Peek();
      return next == Token::kLeftBrace || next == Token::kLeftParen || next == Token::kEqual
                 ? std::optional(HloFormat::kText)
                 : std::nullopt;
    }
    default:
      return lexer.IsKeyword(Keyword::kHloModule) || lexer.IsKeyword(Keyword::kEntry) ||
                     lexer.IsKeyword(Keyword::kRoot) || lexer.kind() == Token::kElementType ||
                     lexer.kind() == Token::kLeftParen
                 ? std::optional(HloFormat::kText)
                 : std::nullopt;
  }
}

}  // namespace

std::optional<HloFormat> DetectHloFormat(absl::string_view content) {
  if (content.empty()) return std::nullopt;
  if (IsPrintable(content.substr(0, kTextSample))) return DetectText(content);
  return DetectBinary(content);
}

}  // namespace autotune
