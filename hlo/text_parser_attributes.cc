#include "absl/strings/str_cat.h"
#include "hlo/backend_config_text.h"
#include "hlo/text_parser.h"

namespace autotune {
template <void (TextParser::P::*kSet)(int64_t)>
bool TextParser::Int64Field(Pending* p) {
  int64_t value;
  if (!Int64(&value)) return false;
  (AttributesOf(p)->*kSet)(value);
  return true;
}

template <void (TextParser::P::*kSet)(int32_t)>
bool TextParser::Int32Field(Pending* p) {
  int32_t value;
  if (!Int32(&value)) return false;
  (AttributesOf(p)->*kSet)(value);
  return true;
}

template <void (TextParser::P::*kSet)(bool)>
bool TextParser::BoolField(Pending* p) {
  bool value;
  if (!Bool(&value)) return false;
  (AttributesOf(p)->*kSet)(value);
  return true;
}

template <TextParser::Int64Field64* (TextParser::P::*kMutable)()>
bool TextParser::Int64ListField(Pending* p) {
  return BracedInt64s((AttributesOf(p)->*kMutable)());
}

template <std::string* (TextParser::P::*kMutable)()>
bool TextParser::StringField(Pending* p) {
  absl::string_view value;
  if (!String(&value)) return false;
  (AttributesOf(p)->*kMutable)()->assign(value.data(), value.size());
  return true;
}

template <TextParser::Int64Field64* (TextParser::D::*kMutable)()>
bool TextParser::DotList(Pending* p) {
  P* attributes = AttributesOf(p);
  D* numbers =
      p->opcode == HloOpcode::kRaggedDot
          ? attributes->mutable_ragged_dot_dimension_numbers()->mutable_dot_dimension_numbers()
          : attributes->mutable_dot_dimension_numbers();
  return BracedInt64s((numbers->*kMutable)());
}

template <TextParser::Int64Field64* (TextParser::R::*kMutable)()>
bool TextParser::RaggedList(Pending* p) {
  return BracedInt64s((AttributesOf(p)->mutable_ragged_dot_dimension_numbers()->*kMutable)());
}

template <TextParser::Int64Field64* (TextParser::G::*kMutable)()>
bool TextParser::GatherList(Pending* p) {
  return BracedInt64s((AttributesOf(p)->mutable_gather_dimension_numbers()->*kMutable)());
}

template <TextParser::Int64Field64* (TextParser::S::*kMutable)()>
bool TextParser::ScatterList(Pending* p) {
  return BracedInt64s((AttributesOf(p)->mutable_scatter_dimension_numbers()->*kMutable)());
}

template <void (TextParser::T::*kSet)(bool)>
bool TextParser::SolveFlag(Pending* p) {
  bool value;
  if (!Bool(&value)) return false;
  (AttributesOf(p)->mutable_triangular_solve_options()->*kSet)(value);
  return true;
}

bool TextParser::AttributeValue(Attribute attribute, Pending* p) {
  switch (attribute) {
#define AUTOTUNE_HLO_ATTRIBUTE(enumerator, name, ...) \
  case Attribute::enumerator:                         \
    return __VA_ARGS__(p);
#include "hlo/text_attribute_list.inc"
#undef AUTOTUNE_HLO_ATTRIBUTE
  }
  return false;
}

bool TextParser::BackendConfig(Pending* p) {
  absl::string_view config;
  if (!StringOrJson(&config)) return false;
  p->f->backend_config = NormalizedBackendConfig(config, builder_);
  return true;
}

bool TextParser::FrontendAttributes(Pending* p) {
  return FrontendAttributeMap(AttributesOf(p)->mutable_frontend_attributes());
}

bool TextParser::FrontendAttributeMap(proto::FrontendAttributes* attributes) {
  return List(Token::kLeftBrace, Token::kRightBrace, Token::kComma, "frontend attributes", [&] {
    if (lexer_.kind() != Token::kAttributeName) return Expected("a frontend attribute");
    const absl::string_view name = lexer_.text();
    lexer_.Next();
    absl::string_view value;
    if (!StringOrJson(&value)) return false;
    (*attributes->mutable_map())[std::string(name)] = std::string(value);
    return true;
  });
}

bool TextParser::ControlPredecessors(Pending* p) {
  if (!Expect(Token::kLeftBrace, "to begin control predecessors")) return false;
  do {
    const size_t offset = lexer_.offset();
    absl::string_view name;
    if (!Name(&name, "the name of an instruction")) return false;
    const NamedInstruction* predecessor = Find(name);
    if (predecessor == nullptr) {
      return Fail(offset,
                  absl::StrCat("no instruction named \"", name, "\" stands before this one"));
    }
    bool known = false;
    for (const HloInstruction* other : p->control_predecessors) {
      known |= other == predecessor->instruction;
    }
    if (!known) p->control_predecessors.push_back(predecessor->instruction);
  } while (Eat(Token::kComma));
  return Expect(Token::kRightBrace, "to end control predecessors");
}

bool TextParser::Statistics(Pending* p) {
  proto::StatisticsViz* statistics = AttributesOf(p)->mutable_statistics_viz();
  bool first = true;
  return List(Token::kLeftBrace, Token::kRightBrace, Token::kComma, "statistics", [&] {
    if (lexer_.kind() != Token::kAttributeName) {
      return Expected(first ? "visualizing_index=" : "a statistic");
    }
    const absl::string_view name = lexer_.text();
    lexer_.Next();
    if (std::exchange(first, false)) {
      int64_t index;
      if (!Int64(&index)) return false;
      statistics->set_stat_index_to_visualize(index);
      return true;
    }
    if (lexer_.kind() != Token::kDecimal && lexer_.kind() != Token::kInt) {
      return Expected("a number");
    }
    double value = static_cast<double>(lexer_.int_value());
    if (lexer_.kind() == Token::kDecimal) value = lexer_.decimal_value();
    lexer_.Next();
    proto::Statistic* statistic = statistics->add_statistics();
    statistic->set_stat_name(std::string(name));
    statistic->set_stat_val(value);
    return true;
  });
}

bool TextParser::OriginalArray(proto::OriginalArrayProto* array) {
  if (!Expect(Token::kLeftBrace, "to begin an original array")) return false;
  if (lexer_.kind() == Token::kString) {
    absl::string_view name;
    if (!String(&name)) return false;
    array->set_instruction_name(std::string(name));
    if (lexer_.kind() == Token::kLeftBrace && !ShapeIndex(array->mutable_shape_index())) {
      return false;
    }
  }
  return Expect(Token::kRightBrace, "to end an original array");
}

// A tree of original arrays in parentheses, or [synthetic_call].
bool TextParser::Origin(Pending* p) {
  proto::OriginalValueProto* value = AttributesOf(p)->mutable_original_value();
  if (!Expect(Token::kLeftBrace, "to begin an original value")) return false;
  if (Eat(Token::kLeftBracket)) {
    if (!AtIdentifier("synthetic_call")) return Expected("synthetic_call");
    lexer_.Next();
    value->set_is_synthetic_call(true);
    return Expect(Token::kRightBracket, "after synthetic_call") &&
           Expect(Token::kRightBrace, "to end an original value");
  }
  Int64s index;
  while (lexer_.kind() != Token::kRightBrace) {
    switch (lexer_.kind()) {
      case Token::kLeftParen:
        if (index.size() >= static_cast<size_t>(kMaxNesting)) {
          return FailHere("this is nested too deeply");
        }
        index.push_back(0);
        lexer_.Next();
        break;
      case Token::kRightParen:
        if (index.empty()) return Expected("an original array");
        index.pop_back();
        lexer_.Next();
        break;
      case Token::kComma:
        if (index.empty()) return Expected("'}' to end an original value");
        ++index.back();
        lexer_.Next();
        break;
      case Token::kLeftBrace: {
        proto::OriginalArrayProto array;
        if (!OriginalArray(&array)) return false;
        proto::OriginalValueElementProto* element = value->add_elements();
        element->mutable_shape_index()->Add(index.begin(), index.end());
        if (!array.instruction_name().empty()) *element->mutable_original_array() = array;
        break;
      }
      default:
        return Expected("an original array");
    }
  }
  lexer_.Next();
  return true;
}

bool TextParser::ParameterReplication(Pending* p) {
  const size_t offset = lexer_.offset();
  proto::ParameterReplication* replication = AttributesOf(p)->mutable_parameter_replication();
  if (!List(Token::kLeftBrace, Token::kRightBrace, Token::kComma, "parameter_replication", [&] {
        bool value;
        if (!Bool(&value)) return false;
        replication->add_replicated_at_leaf_buffers(value);
        return true;
      })) {
    return false;
  }
  if (p->f->opcode != HloOpcode::kParameter) {
    return Fail(offset, "only parameters have parameter_replication");
  }
  const int64_t leaves = p->f->shape->LeafCount();
  if (leaves == replication->replicated_at_leaf_buffers_size()) return true;
  return Fail(offset, absl::StrCat("the parameter has ", leaves, " leaves, parameter_replication ",
                                   replication->replicated_at_leaf_buffers_size(), " values"));
}

bool TextParser::Dimensions(Pending* p) {
  Int64s values;
  if (!BracedInt64s(&values)) return false;
  p->f->dimensions = builder_->Copy<int64_t>(values);
  return true;
}

bool TextParser::SingleDimension(Pending* p) {
  int64_t value;
  if (!Int64(&value)) return false;
  // XLA writes an inferred dimension of -1 as none.
  if (p->opcode == HloOpcode::kReshape && value == -1) return true;
  p->f->dimensions = builder_->Copy<int64_t>({value});
  return true;
}

bool TextParser::ComputationReference(const HloComputation** computation) {
  if (lexer_.kind() == Token::kLeftBrace) {
    HloComputation* inlined;
    if (!InstructionList("_", &inlined)) return false;
    *computation = inlined;
    return true;
  }
  const size_t offset = lexer_.offset();
  absl::string_view name;
  if (!Name(&name, "the name of a computation")) return false;
  const auto it = computation_names_.find(name);
  if (it == computation_names_.end()) {
    return Fail(offset, absl::StrCat("no computation named \"", name, "\" stands before this one"));
  }
  *computation = it->second.first;
  return true;
}

bool TextParser::CalledComputation(Pending* p) {
  const HloComputation* computation;
  if (!ComputationReference(&computation)) return false;
  // The first of two, whichever order the text has them in.
  p->computations.insert(p->computations.begin(), computation);
  return true;
}

bool TextParser::SecondComputation(Pending* p) {
  if (p->opcode != HloOpcode::kConditional) {
    const HloComputation* computation;
    if (!ComputationReference(&computation)) return false;
    p->computations.push_back(computation);
    return true;
  }
  return ComputationReference(&p->condition);
}

bool TextParser::Condition(Pending* p) { return ComputationReference(&p->condition); }

bool TextParser::CalledComputationList(Pending* p) {
  return List(Token::kLeftBrace, Token::kRightBrace, Token::kComma, "computations", [&] {
    const HloComputation* computation;
    if (!ComputationReference(&computation)) return false;
    p->computations.push_back(computation);
    return true;
  });
}

bool TextParser::TupleIndex(Pending* p) { return Int64(&p->f->index); }

}  // namespace autotune
