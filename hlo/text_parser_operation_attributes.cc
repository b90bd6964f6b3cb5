// The attributes of single kinds of operations: their variants, precisions and accuracies.

#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "hlo/text_parser.h"

namespace autotune {

bool TextParser::FusionKind(Pending* p) {
  const size_t offset = lexer_.offset();
  absl::string_view kind;
  if (!Identifier(&kind, "a fusion kind")) return false;
  if (kind != "kLoop" && kind != "kInput" && kind != "kOutput" && kind != "kCustom") {
    return Fail(offset,
                absl::StrCat("expected kLoop, kInput, kOutput or kCustom, got \"", kind, "\""));
  }
  AttributesOf(p)->set_fusion_kind(std::string(kind));
  return true;
}

bool TextParser::ComparisonDirection(Pending* p) {
  const size_t offset = lexer_.offset();
  absl::string_view direction;
  if (!Identifier(&direction, "a comparison direction")) return false;
  for (const absl::string_view known : {"EQ", "NE", "GE", "GT", "LE", "LT"}) {
    if (known != direction) continue;
    AttributesOf(p)->set_comparison_direction(std::string(direction));
    return true;
  }
  return Fail(offset, absl::StrCat("expected EQ, NE, GE, GT, LE or LT, got \"", direction, "\""));
}

bool TextParser::ComparisonType(Pending* p) {
  const size_t offset = lexer_.offset();
  absl::string_view type;
  if (!Identifier(&type, "a comparison type")) return false;
  for (const absl::string_view known : {"FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"}) {
    if (known != type) continue;
    AttributesOf(p)->set_comparison_type(std::string(type));
    return true;
  }
  return Fail(offset,
              absl::StrCat("expected FLOAT, TOTALORDER, SIGNED or UNSIGNED, got \"", type, "\""));
}

bool TextParser::OperandPrecision(Pending* p) {
  proto::PrecisionConfig* config = AttributesOf(p)->mutable_precision_config();
  return List(Token::kLeftBrace, Token::kRightBrace, Token::kComma, "operand_precision", [&] {
    const size_t offset = lexer_.offset();
    absl::string_view name;
    proto::PrecisionConfig::Precision precision;
    if (!Identifier(&name, "a precision")) return false;
    if (!proto::PrecisionConfig::Precision_Parse(absl::AsciiStrToUpper(name), &precision)) {
      return Fail(offset, absl::StrCat("expected default, high or highest, got \"", name, "\""));
    }
    config->add_operand_precision(precision);
    return true;
  });
}

bool TextParser::Algorithm(Pending* p) {
  const size_t offset = lexer_.offset();
  absl::string_view name;
  if (!Identifier(&name, "an algorithm")) return false;
  const std::string upper = absl::AsciiStrToUpper(name);
  if (p->opcode == HloOpcode::kRngBitGenerator) {
    proto::RandomAlgorithm algorithm;
    if (!proto::RandomAlgorithm_Parse(upper, &algorithm)) {
      return Fail(offset, absl::StrCat("expected rng_default, rng_three_fry or rng_philox, got \"",
                                       name, "\""));
    }
    AttributesOf(p)->set_rng_algorithm(algorithm);
    return true;
  }
  proto::PrecisionConfig::Algorithm algorithm;
  if (!proto::PrecisionConfig::Algorithm_Parse(absl::StrCat("ALG_", upper), &algorithm)) {
    return Fail(offset,
                absl::StrCat("expected an algorithm like dot_bf16_bf16_f32, got \"", name, "\""));
  }
  AttributesOf(p)->mutable_precision_config()->set_algorithm(algorithm);
  return true;
}

bool TextParser::IndexVectorDim(Pending* p) {
  int64_t value;
  if (!Int64(&value)) return false;
  if (p->opcode == HloOpcode::kScatter) {
    AttributesOf(p)->mutable_scatter_dimension_numbers()->set_index_vector_dim(value);
  } else {
    AttributesOf(p)->mutable_gather_dimension_numbers()->set_index_vector_dim(value);
  }
  return true;
}

bool TextParser::IsAssociative(Pending* p) {
  bool value;
  if (!Bool(&value)) return false;
  AttributesOf(p)->set_is_associative(value ? proto::TRI_STATE_TRUE : proto::TRI_STATE_FALSE);
  return true;
}

bool TextParser::ResultAccuracy(Pending* p) {
  if (!Expect(Token::kLeftBrace, "to begin a result accuracy")) return false;
  if (lexer_.kind() != Token::kAttributeName) return Expected("mode= or tolerance=");
  const absl::string_view name = lexer_.text();
  if (name == "mode") {
    lexer_.Next();
    const size_t offset = lexer_.offset();
    absl::string_view mode;
    if (!Identifier(&mode, "default or highest")) return false;
    proto::ResultAccuracy::Mode value;
    if (!proto::ResultAccuracy::Mode_Parse(absl::AsciiStrToUpper(mode), &value)) {
      return Fail(offset, absl::StrCat("expected default or highest, got \"", mode, "\""));
    }
    // The default mode is what an instruction without the attribute has.
    if (value != proto::ResultAccuracy::DEFAULT) {
      AttributesOf(p)->mutable_result_accuracy()->set_mode(value);
    }
  } else if (name == "tolerance") {
    lexer_.Next();
    if (!Tolerance(AttributesOf(p)->mutable_result_accuracy()->mutable_tolerance())) return false;
  } else {
    return Expected("mode= or tolerance=");
  }
  return Expect(Token::kRightBrace, "to end a result accuracy");
}

bool TextParser::Tolerance(proto::ResultAccuracy::Tolerance* tolerance) {
  return List(Token::kLeftBrace, Token::kRightBrace, Token::kComma, "tolerances", [&] {
    if (lexer_.kind() != Token::kAttributeName) return Expected("ulps=, rtol= or atol=");
    const absl::string_view name = lexer_.text();
    const size_t offset = lexer_.offset();
    lexer_.Next();
    double value;
    if (!Double(&value)) return false;
    if (!(value >= 0)) return Fail(offset, "a tolerance must not be negative or NaN");
    if (name == "ulps") {
      if (!(std::fabs(value) < 9e18)) return Fail(offset, "ulps must fit in 64 bits");
      tolerance->set_ulps(static_cast<int64_t>(value));
    } else if (name == "rtol") {
      tolerance->set_rtol(value);
    } else if (name == "atol") {
      tolerance->set_atol(value);
    } else {
      return Fail(offset, absl::StrCat("expected ulps=, rtol= or atol=, got \"", name, "=\""));
    }
    return true;
  });
}

bool TextParser::Epsilon(Pending* p) {
  const size_t offset = lexer_.offset();
  double value;
  if (!Double(&value)) return false;
  if (value > std::numeric_limits<float>::max() || value < std::numeric_limits<float>::lowest()) {
    return Fail(offset, "this number is out of the range of f32");
  }
  AttributesOf(p)->set_epsilon(static_cast<float>(value));
  return true;
}

}  // namespace autotune
