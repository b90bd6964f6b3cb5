#include <array>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "hlo/lexer.h"
#include "hlo/read_module.h"
#include "hlo/wire_scanner.h"

namespace autotune {
namespace {

constexpr size_t kTextSample = 4096;

// Goes over the fields of a protobuf message without a schema. Stops at the first byte that cannot
// be one.
class WireReader {
 public:
  explicit WireReader(absl::string_view bytes) : scanner_(bytes) {}

  // Moves to the next field; false at the end or at an error.
  bool Next() {
    const absl::StatusOr<bool> more = scanner_.Next(&field_);
    return more.ok() && *more;
  }

  size_t number() const { return static_cast<size_t>(field_.number); }
  bool is_bytes() const { return field_.wire_type == 2; }
  // Empty unless is_bytes().
  absl::string_view payload() const { return is_bytes() ? field_.payload : absl::string_view(); }

 private:
  WireScanner scanner_;
  WireField field_;
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

// Fields of HloModuleProto, HloProto and HloSnapshot.
bool IsMessageField(absl::string_view word) {
  for (const absl::string_view known : {"hlo_module", "computations", "buffer_assignment", "hlo",
                                        "arguments", "result", "host_program_shape", "schedule"}) {
    if (word == known) return true;
  }
  return false;
}

// Whether a message in protobuf text may begin so, and not the instructions of a computation.
bool BeginsWithField(absl::string_view text) {
  text = absl::StripLeadingAsciiWhitespace(text);
  const size_t word_end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789");
  if (word_end == absl::string_view::npos) return true;
  text = absl::StripLeadingAsciiWhitespace(text.substr(word_end));
  return text.empty() || absl::string_view(":{}[#").find(text[0]) != absl::string_view::npos;
}

bool IsScalarField(absl::string_view word) {
  for (const absl::string_view known :
       {"name", "id", "entry_computation_name", "entry_computation_id", "execution_platform"}) {
    if (word == known) return true;
  }
  return false;
}

std::optional<HloFormat> DetectText(absl::string_view content) {
  absl::string_view text = absl::StripLeadingAsciiWhitespace(content);
  for (const absl::string_view start :
       {"module @", "module {", "module attributes", "builtin.module", "\"builtin.module\"", "#loc",
        "!vhlo", "func.func", "#sdy"}) {
    if (absl::StartsWith(text, start)) return HloFormat::kStableHlo;
  }
  // Protobuf text may begin with remarks.
  while (absl::StartsWith(text, "# ")) {
    const size_t end = text.find('\n');
    text =
        absl::StripLeadingAsciiWhitespace(end == absl::string_view::npos ? "" : text.substr(end));
  }
  // Fields with which it begins.
  const size_t word_end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  if (word_end != absl::string_view::npos && word_end > 0) {
    const absl::string_view word = text.substr(0, word_end);
    absl::string_view after = absl::StripLeadingAsciiWhitespace(text.substr(word_end));
    const bool message = absl::StartsWith(after, "{") || absl::StartsWith(after, ": {");
    const bool scalar = absl::StartsWith(after, ":") && !message;
    if (message ? IsMessageField(word) && BeginsWithField(after.substr(after.find('{') + 1))
                : scalar && IsScalarField(word)) {
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
