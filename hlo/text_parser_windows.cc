#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "hlo/text_parser.h"

namespace autotune {
namespace {

bool SplitIntegers(absl::string_view text, char delimiter, std::vector<int64_t>* values) {
  for (const absl::string_view part : absl::StrSplit(text, delimiter)) {
    if (!absl::SimpleAtoi(part, &values->emplace_back())) return false;
  }
  return true;
}

}  // namespace

bool TextParser::WindowAttribute(Pending* p) {
  const size_t offset = lexer_.offset();
  return Expect(Token::kLeftBrace, "to begin a window") &&
         WindowFields(offset, AttributesOf(p)->mutable_window()) &&
         Expect(Token::kRightBrace, "to end a window");
}

bool TextParser::WindowFields(size_t offset, proto::Window* window) {
  Int64s size, stride, lhs_dilate, rhs_dilate, rhs_reversal, low, high;
  const std::pair<absl::string_view, Int64s*> fields[] = {{"size", &size},
                                                          {"stride", &stride},
                                                          {"lhs_dilate", &lhs_dilate},
                                                          {"rhs_dilate", &rhs_dilate},
                                                          {"rhs_reversal", &rhs_reversal}};
  while (lexer_.kind() != Token::kRightBrace) {
    if (lexer_.kind() != Token::kAttributeName) return Expected("a field of the window");
    const absl::string_view name = lexer_.text();
    const size_t field_offset = lexer_.offset();
    lexer_.Next();
    if (name == "pad") {
      if (!low.empty()) return Fail(field_offset, "pad= appears twice");
      if (!WindowPad(&low, &high)) return false;
      continue;
    }
    Int64s* values = nullptr;
    for (const auto& [field, target] : fields) {
      if (field == name) values = target;
    }
    if (values == nullptr) {
      return Fail(field_offset, absl::StrCat("a window has no field \"", name, "\""));
    }
    if (!values->empty()) return Fail(field_offset, absl::StrCat(name, "= appears twice"));
    if (!Sizes(name, values)) return false;
  }
  for (const auto& [field, values] : fields) {
    if (values->empty() || values->size() == size.size()) continue;
    return Fail(offset,
                absl::StrCat(field, "= has ", values->size(), " numbers, size= has ", size.size()));
  }
  if (!low.empty() && low.size() != size.size()) {
    return Fail(offset, absl::StrCat("pad= has ", low.size(), " pairs, size= has ", size.size()));
  }
  for (size_t i = 0; i < size.size(); ++i) {
    proto::WindowDimension* dimension = window->add_dimensions();
    dimension->set_size(size[i]);
    dimension->set_stride(stride.empty() ? 1 : stride[i]);
    dimension->set_base_dilation(lhs_dilate.empty() ? 1 : lhs_dilate[i]);
    dimension->set_window_dilation(rhs_dilate.empty() ? 1 : rhs_dilate[i]);
    dimension->set_window_reversal(!rhs_reversal.empty() && rhs_reversal[i] == 1);
    if (low.empty()) continue;
    dimension->set_padding_low(low[i]);
    dimension->set_padding_high(high[i]);
  }
  return true;
}

bool TextParser::Sizes(absl::string_view name, Int64s* values) {
  if (lexer_.kind() == Token::kInt) {
    values->push_back(lexer_.int_value());
    lexer_.Next();
    return true;
  }
  if (lexer_.kind() != Token::kDxD) return Expected(absl::StrCat(name, " like 3x3"));
  std::vector<int64_t> numbers;
  if (!SplitIntegers(lexer_.text(), 'x', &numbers)) {
    return FailHere("a number here does not fit in 64 bits");
  }
  values->assign(numbers.begin(), numbers.end());
  lexer_.Next();
  return true;
}

bool TextParser::WindowPad(Int64s* low, Int64s* high) {
  if (lexer_.kind() != Token::kPad) return Expected("padding like 1_1x0_0");
  for (const absl::string_view dimension : absl::StrSplit(lexer_.text(), 'x')) {
    std::vector<int64_t> pair;
    if (!SplitIntegers(dimension, '_', &pair) || pair.size() != 2) {
      return FailHere("the padding of a window is pairs like 1_1x0_0");
    }
    low->push_back(pair[0]);
    high->push_back(pair[1]);
  }
  lexer_.Next();
  return true;
}

namespace {

// The roles of one side of dimension labels: where the batch (or input feature) and the feature (or
// output feature) dimension stand, and where each spatial one does.
struct SideLabels {
  int64_t first = 0;
  int64_t second = 0;
  std::vector<int64_t> spatial;
};

// Returns what is wrong, or nothing.
std::string ParseSide(absl::string_view labels, char first, char second, SideLabels* side) {
  std::vector<bool> seen(256, false);
  size_t spatial = 0;
  for (const char c : labels) {
    if (c == '?') continue;
    if (seen[static_cast<unsigned char>(c)]) {
      return absl::StrCat("the label '", std::string(1, c), "' appears twice in ", labels);
    }
    seen[static_cast<unsigned char>(c)] = true;
    if (c != first && c != second) ++spatial;
  }
  side->spatial.assign(spatial, -1);
  for (size_t i = 0; i < labels.size(); ++i) {
    const char c = labels[i];
    const int64_t position = static_cast<int64_t>(i);
    if (c == '?') continue;
    if (c == first) {
      side->first = position;
    } else if (c == second) {
      side->second = position;
    } else {
      const size_t index = static_cast<size_t>(c - '0');
      if (index >= spatial) {
        return absl::StrCat("the spatial dimensions of ", labels, " are not 0 to ", spatial - 1);
      }
      side->spatial[index] = position;
    }
  }
  return "";
}

}  // namespace

bool TextParser::DimLabels(Pending* p) {
  if (lexer_.kind() != Token::kDimLabels) return Expected("dimension labels like b01f_01io->b01f");
  const absl::string_view text = lexer_.text();
  const size_t underscore = text.find('_');
  const size_t arrow = text.find("->");
  SideLabels input, kernel, output;
  std::string wrong = ParseSide(text.substr(0, underscore), 'b', 'f', &input);
  if (wrong.empty()) {
    wrong = ParseSide(text.substr(underscore + 1, arrow - underscore - 1), 'i', 'o', &kernel);
  }
  if (wrong.empty()) wrong = ParseSide(text.substr(arrow + 2), 'b', 'f', &output);
  if (wrong.empty() && (input.spatial.size() != kernel.spatial.size() ||
                        input.spatial.size() != output.spatial.size())) {
    wrong =
        absl::StrCat("input, kernel and output have ", input.spatial.size(), ", ",
                     kernel.spatial.size(), " and ", output.spatial.size(), " spatial dimensions");
  }
  if (!wrong.empty()) return FailHere(wrong);
  proto::ConvolutionDimensionNumbers* numbers =
      AttributesOf(p)->mutable_convolution_dimension_numbers();
  numbers->set_input_batch_dimension(input.first);
  numbers->set_input_feature_dimension(input.second);
  numbers->set_kernel_input_feature_dimension(kernel.first);
  numbers->set_kernel_output_feature_dimension(kernel.second);
  numbers->set_output_batch_dimension(output.first);
  numbers->set_output_feature_dimension(output.second);
  const auto add = [](const std::vector<int64_t>& from, Int64Field64* to) {
    to->Add(from.begin(), from.end());
  };
  add(input.spatial, numbers->mutable_input_spatial_dimensions());
  add(kernel.spatial, numbers->mutable_kernel_spatial_dimensions());
  add(output.spatial, numbers->mutable_output_spatial_dimensions());
  lexer_.Next();
  return true;
}

bool TextParser::ConvolutionKind(Pending* p) {
  const size_t offset = lexer_.offset();
  absl::string_view kind;
  if (!Identifier(&kind, "a convolution kind")) return false;
  proto::ConvolutionKind value = proto::CONVOLUTION_KIND_UNSET;
  if (kind == "fprop") {
    value = proto::CONVOLUTION_KIND_FPROP;
  } else if (kind == "dgrad") {
    value = proto::CONVOLUTION_KIND_DGRAD;
  } else if (kind == "wgrad") {
    value = proto::CONVOLUTION_KIND_WGRAD;
  } else if (kind != "unset") {
    return Fail(offset, absl::StrCat("expected fprop, dgrad, wgrad or unset, got \"", kind, "\""));
  }
  AttributesOf(p)->set_conv_kind(value);
  return true;
}

bool TextParser::Padding(Pending* p) {
  if (lexer_.kind() != Token::kPad) return Expected("padding like 1_1x0_0_2");
  proto::PaddingConfig* config = AttributesOf(p)->mutable_padding_config();
  for (const absl::string_view text : absl::StrSplit(lexer_.text(), 'x')) {
    std::vector<int64_t> numbers;
    if (!SplitIntegers(text, '_', &numbers) || numbers.size() > 3) {
      return FailHere("padding is low_high or low_high_interior for each dimension");
    }
    proto::PaddingConfig::PaddingConfigDimension* dimension = config->add_dimensions();
    dimension->set_edge_padding_low(numbers[0]);
    dimension->set_edge_padding_high(numbers[1]);
    if (numbers.size() == 3) dimension->set_interior_padding(numbers[2]);
  }
  lexer_.Next();
  return true;
}

bool TextParser::SliceRanges(Pending* p) {
  P* attributes = AttributesOf(p);
  return List(Token::kLeftBrace, Token::kRightBrace, Token::kComma, "slice ranges", [&] {
    const size_t offset = lexer_.offset();
    Int64s range;
    if (!List(Token::kLeftBracket, Token::kRightBracket, Token::kColon, "a slice range", [&] {
          int64_t value;
          if (!Int64(&value)) return false;
          range.push_back(value);
          return true;
        })) {
      return false;
    }
    if (range.size() != 2 && range.size() != 3) {
      return Fail(offset, absl::StrCat("expected [start:limit] or [start:limit:stride], got ",
                                       range.size(), " numbers"));
    }
    P::SliceDimensions* dimension = attributes->add_slice_dimensions();
    dimension->set_start(range[0]);
    dimension->set_limit(range[1]);
    dimension->set_stride(range.size() == 3 ? range[2] : 1);
    return true;
  });
}

bool TextParser::SliceSizes(Pending* p) {
  P* attributes = AttributesOf(p);
  if (p->opcode == HloOpcode::kGather)
    return BracedInt64s(attributes->mutable_gather_slice_sizes());
  // Of a collective-permute: one list for each slice, flattened in the protobuf.
  return List(Token::kLeftBrace, Token::kRightBrace, Token::kComma, "slice sizes",
              [&] { return BracedInt64s(attributes->mutable_dynamic_slice_sizes()); });
}

bool TextParser::SparsityConfig(Pending* p) {
  proto::SparsityConfig* config = AttributesOf(p)->mutable_sparsity_config();
  if (!Expect(Token::kLeftBrace, "to begin a sparsity configuration")) return false;
  while (!Eat(Token::kRightBrace)) {
    if (lexer_.kind() != Token::kAttributeName ||
        (lexer_.text() != "lhs" && lexer_.text() != "rhs")) {
      return Expected("lhs=, rhs= or '}'");
    }
    const bool lhs = lexer_.text() == "lhs";
    lexer_.Next();
    if (!TensorSparsity(lhs ? config->mutable_lhs() : config->mutable_rhs())) return false;
  }
  return true;
}

// `{sparsity=2x4 dimension=1 stride=1}`, without commas.
bool TextParser::TensorSparsity(proto::SparsityConfig::TensorSparsityConfig* config) {
  if (!Expect(Token::kLeftBrace, "to begin a sparsity")) return false;
  while (!Eat(Token::kRightBrace)) {
    if (lexer_.kind() != Token::kAttributeName) return Expected("a field of a sparsity or '}'");
    const absl::string_view name = lexer_.text();
    const size_t offset = lexer_.offset();
    lexer_.Next();
    if (name == "sparsity") {
      // So many non-zero elements in a block of that size: 2x4.
      const size_t sizes_offset = lexer_.offset();
      Int64s sizes;
      if (!Sizes(name, &sizes)) return false;
      if (sizes.size() != 2) return Fail(sizes_offset, "expected NON_ZEROxBLOCK_SIZE, as in 2x4");
      config->set_num_non_zero(sizes[0]);
      config->set_block_size(sizes[1]);
      continue;
    }
    int64_t value;
    if (!Int64(&value)) return false;
    if (name == "dimension") {
      config->set_dimension(value);
    } else if (name == "stride") {
      config->set_stride(value);
    } else {
      return Fail(offset, absl::StrCat("a sparsity has no field \"", name, "\""));
    }
  }
  return true;
}

}  // namespace autotune
