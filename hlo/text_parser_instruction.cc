#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "hlo/text_parser.h"

namespace autotune {

bool TextParser::Instruction() {
  const size_t root_offset = lexer_.offset();
  const bool is_root = EatKeyword(Keyword::kRoot);
  const size_t offset = lexer_.offset();
  absl::string_view name;
  if (!Name(&name, "an instruction") || !Expect(Token::kEqual, "after the instruction's name")) {
    return false;
  }
  if (!InstructionRest(name, offset, /*allow_attributes=*/true)) return false;
  if (!is_root) return true;
  Scope& scope = scopes_.back();
  if (scope.root != nullptr) return Fail(root_offset, "the computation has another ROOT already");
  scope.root = scope.instructions.back();
  return true;
}

bool TextParser::InstructionRest(absl::string_view name, size_t name_offset,
                                 bool allow_attributes) {
  Nested nested(this);
  if (!nested.Ok()) return false;
  Pending p;
  p.instruction = builder_->NewInstruction();
  p.f = &builder_->Edit(p.instruction);
  p.f->line = LineOf(name_offset);
  if (AtShape()) {
    p.has_shape = true;
    if (!InternedShape(&p.f->shape)) return false;
  }
  bool sugar = false;
  HloOpcode wrapped = HloOpcode::kUnknown;
  p.offset = lexer_.offset();
  if (!Opcode(&p, &sugar, &wrapped)) return false;
  const HloOpcode opcode = p.f->opcode;
  if (!OperandsOf(&p)) return false;
  p.attributes_offset = lexer_.offset();
  if (opcode == HloOpcode::kAsyncStart || opcode == HloOpcode::kAsyncUpdate ||
      opcode == HloOpcode::kAsyncDone) {
    if (!AsyncInstruction(&p, wrapped, sugar, allow_attributes)) return false;
  } else {
    const OpcodeRule& rule = RuleOf(opcode);
    if (allow_attributes && !Attributes(&p, rule.allowed, rule.required)) return false;
    if (!allow_attributes && !Attributes(&p, {}, rule.required)) return false;
    if (!FinishInstruction(&p)) return false;
  }
  return AddInstruction(&p, name, name_offset);
}

bool TextParser::Opcode(Pending* p, bool* async_sugar, HloOpcode* wrapped) {
  if (lexer_.kind() != Token::kIdentifier) {
    return Expected(p->has_shape ? "an opcode" : "a shape or an opcode");
  }
  const absl::string_view name = lexer_.text();
  const size_t offset = lexer_.offset();
  const std::optional<HloOpcode> opcode = HloOpcodeFromName(name);
  if (opcode.has_value()) {
    p->f->opcode = *opcode;
  } else {
    absl::string_view base = name;
    if (absl::ConsumeSuffix(&base, "-start")) {
      p->f->opcode = HloOpcode::kAsyncStart;
    } else if (absl::ConsumeSuffix(&base, "-update")) {
      p->f->opcode = HloOpcode::kAsyncUpdate;
    } else if (absl::ConsumeSuffix(&base, "-done")) {
      p->f->opcode = HloOpcode::kAsyncDone;
    }
    const std::optional<HloOpcode> inner = HloOpcodeFromName(base);
    *async_sugar = base.size() != name.size() && inner.has_value();
    if (*async_sugar) {
      *wrapped = *inner;
    } else if (options_.keep_unknown && p->has_shape) {
      p->f->opcode = HloOpcode::kUnknown;
      AttributesOf(p)->set_opcode(std::string(name));
    } else {
      return Fail(offset, absl::StrCat("unknown opcode \"", name, "\""));
    }
  }
  p->opcode = *async_sugar ? *wrapped : p->f->opcode;
  lexer_.Next();
  if (!p->has_shape && p->f->opcode == HloOpcode::kUnknown) {
    return Fail(offset, "an unknown opcode needs a shape before it");
  }
  return true;
}

bool TextParser::OperandsOf(Pending* p) {
  const size_t offset = lexer_.offset();
  switch (p->f->opcode) {
    case HloOpcode::kParameter:
      return ParameterNumber(p);
    case HloOpcode::kConstant: {
      Literal* literal;
      if (!p->has_shape) return Fail(p->offset, "a constant needs a shape before it");
      if (!Expect(Token::kLeftParen, "before the value of a constant") ||
          !LiteralOf(p->f->shape, &literal) ||
          !Expect(Token::kRightParen, "after the value of a constant")) {
        return false;
      }
      p->f->literal = literal;
      p->f->shape = literal->shape;
      return true;
    }
    default:
      return Operands(p) && CheckOperandCount(*p, offset);
  }
}

bool TextParser::ParameterNumber(Pending* p) {
  if (!p->has_shape) return Fail(p->offset, "a parameter needs a shape before it");
  if (!Expect(Token::kLeftParen, "before the parameter number")) return false;
  const size_t offset = lexer_.offset();
  if (!Int64(&p->f->index)) return false;
  if (p->f->index < 0) return Fail(offset, "a parameter number must not be negative");
  for (const HloInstruction* other : scopes_.back().parameters) {
    if (other->parameter_number() != p->f->index) continue;
    return Fail(offset,
                absl::StrCat("there is a parameter ", p->f->index, " already: ", other->name()));
  }
  return Expect(Token::kRightParen, "after the parameter number");
}

bool TextParser::CheckOperandCount(const Pending& p, size_t offset) {
  const std::optional<int> expected = HloOpcodeOperandCount(p.f->opcode);
  size_t count = p.operands.size();
  size_t wanted = expected.has_value() ? static_cast<size_t>(*expected) : count;
  // XLA's parser asks for these although their opcodes are variadic.
  if (p.f->opcode == HloOpcode::kConvolution || p.f->opcode == HloOpcode::kDot) wanted = 2;
  // And leaves this one to the verifier.
  if (p.f->opcode == HloOpcode::kRaggedAllToAll) wanted = count;
  if (p.f->opcode == HloOpcode::kTuple && p.has_shape) {
    wanted = p.f->shape->tuple_shapes().size();
  }
  if (count == wanted) return true;
  return Fail(offset, absl::StrCat(HloOpcodeName(p.f->opcode), " takes ", wanted, " operand",
                                   wanted == 1 ? "" : "s", ", but has ", count));
}

bool TextParser::Operands(Pending* p) {
  if (!Expect(Token::kLeftParen, "to begin the operands")) return false;
  if (Eat(Token::kRightParen)) return true;
  do {
    // As in XLA's parser, nothing between two commas is no operand.
    if (lexer_.kind() == Token::kComma || lexer_.kind() == Token::kRightParen) continue;
    if (!Operand(p)) return false;
  } while (Eat(Token::kComma));
  return Expect(Token::kRightParen, "to end the operands");
}

// An operand is a name, perhaps with a shape before it, or an instruction of its own without a name
// and without attributes.
bool TextParser::Operand(Pending* p) {
  const Lexer begin = lexer_;
  bool found = false;
  if (!NamedOperand(p, &found)) return false;
  if (found) return true;
  lexer_ = begin;
  const size_t offset = lexer_.offset();
  if (!InstructionRest("", offset, /*allow_attributes=*/false)) return false;
  p->operands.push_back(scopes_.back().instructions.back());
  return true;
}

bool TextParser::NamedOperand(Pending* p, bool* found) {
  const Shape* shape = nullptr;
  if (AtShape() && !InternedShape(&shape)) return false;
  const bool may_create = lone_instruction_ && scopes_.size() == 1;
  const size_t offset = lexer_.offset();
  absl::string_view name;
  if (lexer_.kind() == Token::kName || lexer_.kind() == Token::kIdentifier) {
    name = lexer_.text();
    lexer_.Next();
  } else if (shape == nullptr || !may_create) {
    // XLA's parser takes a shape alone for nothing, as it does with nothing at all.
    *found =
        shape != nullptr && (lexer_.kind() == Token::kComma || lexer_.kind() == Token::kRightParen);
    return *found || Expected(shape == nullptr ? "an operand" : "the name of an operand");
  }
  const NamedInstruction* named = name.empty() ? nullptr : Find(name);
  const bool ends = lexer_.kind() == Token::kComma || lexer_.kind() == Token::kRightParen;
  const HloInstruction* operand = named == nullptr ? nullptr : named->instruction;
  if (operand == nullptr && may_create && shape != nullptr) {
    // XLA makes a parameter even where the name turns out to be an opcode.
    const int64_t number = static_cast<int64_t>(scopes_.back().parameters.size());
    if (name.empty()) name = builder_->Copy(absl::StrCat("_", number));
    operand = NewParameter(name, shape, number);
    scopes_.back().names[name] = {const_cast<HloInstruction*>(operand), offset};
  }
  if (!ends) return true;
  if (operand == nullptr && may_create) {
    return Fail(offset, "an operand of a lone instruction needs a shape");
  }
  if (operand == nullptr) {
    return Fail(offset, absl::StrCat("no instruction named \"", name, "\" stands before this one"));
  }
  if (shape != nullptr && shape != &operand->shape() && !operand->shape().IsCompatible(*shape)) {
    return Fail(offset, absl::StrCat("the operand is said to be ", shape->ToString(false), ", but ",
                                     name, " is ", operand->shape().ToString(false)));
  }
  p->operands.push_back(operand);
  *found = true;
  return true;
}

bool TextParser::Attributes(Pending* p, const AttributeSet& allowed, const AttributeSet& required) {
  // Without attributes a comma belongs to the list that this instruction stands in.
  const bool none_allowed = !allowed.Has(Attribute::kMetadata);
  while (!none_allowed && Eat(Token::kComma)) {
    if (!OneAttribute(p, allowed)) return false;
  }
  if (const std::optional<Attribute> missing = required.FirstMissingFrom(p->seen)) {
    return Fail(
        p->attributes_offset,
        absl::StrCat(HloOpcodeName(p->opcode), " needs the attribute ", AttributeName(*missing)));
  }
  return true;
}

bool TextParser::OneAttribute(Pending* p, const AttributeSet& allowed) {
  if (lexer_.kind() != Token::kAttributeName) return Expected("an attribute");
  const absl::string_view name = lexer_.text();
  const size_t offset = lexer_.offset();
  const std::optional<Attribute> attribute = AttributeFromName(name);
  lexer_.Next();
  if (!attribute.has_value() || !allowed.Has(*attribute)) return UnknownAttribute(p, name, offset);
  if (p->seen.Has(*attribute)) {
    return Fail(offset, absl::StrCat("the attribute ", name, " appears twice"));
  }
  p->seen.Insert(*attribute);
  return AttributeValue(*attribute, p);
}

bool TextParser::UnknownAttribute(Pending* p, absl::string_view name, size_t offset) {
  const bool known = AttributeFromName(name).has_value();
  if (!options_.keep_unknown) {
    const absl::string_view opcode = HloOpcodeName(p->opcode);
    return Fail(offset, known ? absl::StrCat(opcode, " has no attribute \"", name, "\"")
                              : absl::StrCat("unknown attribute \"", name, "\""));
  }
  if (!SkipValue(/*in_header=*/false)) return false;
  const absl::string_view kept =
      UpToLastToken(lexer_.source().substr(offset, lexer_.offset() - offset));
  P* attributes = AttributesOf(p);
  attributes->GetReflection()
      ->MutableUnknownFields(attributes)
      ->AddLengthDelimited(kVerbatimAttributeField, std::string(kept));
  return true;
}

// Skips tokens up to the next `,` or closing bracket outside of brackets, or to what begins the
// next instruction (or computation, behind the module's header).
bool TextParser::SkipValue(bool in_header) {
  int64_t depth = 0;
  for (bool first = true;; first = false) {
    switch (lexer_.kind()) {
      case Token::kEnd:
        return depth == 0 || FailHere("the brackets of this value do not match");
      case Token::kError:
        return Expected("a value");
      case Token::kLeftBrace:
      case Token::kLeftBracket:
      case Token::kLeftParen:
        ++depth;
        break;
      case Token::kRightBrace:
      case Token::kRightBracket:
      case Token::kRightParen:
        if (depth == 0) return true;
        --depth;
        break;
      case Token::kComma:
        if (depth == 0) return true;
        break;
      case Token::kKeyword:
        if (depth == 0 && !first &&
            (lexer_.IsKeyword(Keyword::kRoot) || lexer_.IsKeyword(Keyword::kEntry) ||
             lexer_.IsKeyword(Keyword::kFileNames))) {
          return true;
        }
        break;
      case Token::kName:
      case Token::kIdentifier:
        if (depth == 0 && !first) {
          const Token next = lexer_.Peek();
          if (next == Token::kEqual) return true;
          if (in_header && (next == Token::kLeftBrace || next == Token::kLeftParen)) return true;
        }
        break;
      default:
        break;
    }
    lexer_.Next();
  }
}

const TextParser::NamedInstruction* TextParser::Find(absl::string_view name) const {
  const NameTable& names = scopes_.back().names;
  const auto it = names.find(name);
  return it == names.end() ? nullptr : &it->second;
}

proto::HloInstructionProto* TextParser::AttributesOf(Pending* p) {
  if (p->attributes == nullptr) {
    p->attributes = builder_->NewMessage<proto::HloInstructionProto>();
    p->f->attributes = p->attributes;
  }
  return p->attributes;
}

HloInstruction* TextParser::NewParameter(absl::string_view name, const Shape* shape,
                                         int64_t number) {
  HloInstruction* parameter = builder_->NewInstruction();
  ModuleBuilder::Instruction& f = builder_->Edit(parameter);
  f.name = name;
  f.opcode = HloOpcode::kParameter;
  f.shape = shape;
  f.index = number;
  Scope& scope = scopes_.back();
  scope.instructions.push_back(parameter);
  scope.parameters.push_back(parameter);
  return parameter;
}

absl::string_view TextParser::AnonymousName(HloOpcode opcode) {
  std::string renamed;
  if (!has_anonymous_) {
    has_anonymous_ = true;
    for (const HloComputation* computation : computations_) {
      for (const HloInstruction* i : computation->instructions()) {
        anonymous_names_.Take(i->name(), &renamed);
      }
    }
    for (const Scope& scope : scopes_) {
      for (const HloInstruction* i : scope.instructions) anonymous_names_.Take(i->name(), &renamed);
    }
  }
  const absl::string_view name = builder_->Copy(absl::StrCat(HloOpcodeName(opcode), ".anon"));
  return anonymous_names_.Take(name, &renamed) ? name : builder_->Copy(renamed);
}

bool TextParser::AddInstruction(Pending* p, absl::string_view name, size_t name_offset) {
  if (name.empty()) {
    name = AnonymousName(p->f->opcode);
  } else {
    std::string ignored;
    if (has_anonymous_) anonymous_names_.Take(name, &ignored);
    if (!IsSanitizedName(name)) {
      return Fail(name_offset,
                  absl::StrCat("\"", name, "\" cannot be the name of an instruction; \"",
                               SanitizedName(name), "\" can"));
    }
  }
  p->f->name = name;
  p->f->operands = builder_->Copy<const HloInstruction*>(p->operands);
  p->f->control_predecessors = builder_->Copy<const HloInstruction*>(p->control_predecessors);
  p->f->called_computations = builder_->Copy<const HloComputation*>(p->computations);
  Scope& scope = scopes_.back();
  const auto [it, inserted] = scope.names.insert({name, {p->instruction, name_offset}});
  if (!inserted) {
    return Fail(name_offset, absl::StrCat("the instruction ", name, " is defined already in line ",
                                          lexer_.LineAndColumn(it->second.offset).first));
  }
  scope.instructions.push_back(p->instruction);
  if (p->f->opcode == HloOpcode::kParameter) scope.parameters.push_back(p->instruction);
  return true;
}

}  // namespace autotune
