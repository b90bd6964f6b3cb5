#ifndef AUTOTUNE_HLO_TEXT_ATTRIBUTES_H_
#define AUTOTUNE_HLO_TEXT_ATTRIBUTES_H_

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "absl/strings/string_view.h"
#include "hlo/opcode.h"

namespace autotune {

// The attributes of instructions in HLO text.
enum class Attribute : uint8_t {
#define AUTOTUNE_HLO_ATTRIBUTE(enumerator, name, parse) enumerator,
#include "hlo/text_attribute_list.inc"
#undef AUTOTUNE_HLO_ATTRIBUTE
};

#define AUTOTUNE_HLO_ATTRIBUTE(enumerator, name, parse) +1
inline constexpr int kAttributeCount = 0
#include "hlo/text_attribute_list.inc"
    ;
#undef AUTOTUNE_HLO_ATTRIBUTE

// A set of attributes. A small value.
class AttributeSet {
 public:
  constexpr AttributeSet() = default;
  constexpr AttributeSet(std::initializer_list<Attribute> attributes) {
    for (const Attribute attribute : attributes) Insert(attribute);
  }
  constexpr void Insert(Attribute a) { words_[Word(a)] |= Bit(a); }
  constexpr bool Has(Attribute a) const { return (words_[Word(a)] & Bit(a)) != 0; }
  constexpr void InsertAll(const AttributeSet& other) {
    words_[0] |= other.words_[0];
    words_[1] |= other.words_[1];
  }
  // The first attribute that is in this set but not in `other`, if there is one.
  std::optional<Attribute> FirstMissingFrom(const AttributeSet& other) const;

 private:
  static constexpr int Word(Attribute a) { return static_cast<int>(a) / 64; }
  static constexpr uint64_t Bit(Attribute a) { return uint64_t{1} << static_cast<int>(a) % 64; }
  static_assert(kAttributeCount <= 128);

  uint64_t words_[2] = {0, 0};
};

// The name in the text.
absl::string_view AttributeName(Attribute attribute);
std::optional<Attribute> AttributeFromName(absl::string_view name);

// What the text of an opcode may and must hold.
struct OpcodeRule {
  AttributeSet required;
  // Required ones and those that every instruction may have included.
  AttributeSet allowed;
};
const OpcodeRule& RuleOf(HloOpcode opcode);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_TEXT_ATTRIBUTES_H_
