#include "hlo/name_uniquer.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "hlo/element_type.h"

namespace autotune {
namespace {

bool IsNameChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
}

bool IsReserved(absl::string_view name) {
  return name != "tuple" && name != "buffer" && ElementTypeFromName(name).has_value();
}

bool HasReservedPrefix(absl::string_view name) {
  return absl::StartsWith(name, "__") && !absl::StartsWith(name, "__xla_");
}

// Splits off a suffix of digits: "add.7" is "add" and 7.
bool SplitSuffix(absl::string_view name, absl::string_view* root, int64_t* suffix) {
  const size_t dot = name.rfind('.');
  *root = name;
  *suffix = 0;
  if (dot == absl::string_view::npos || dot == 0 || dot + 1 == name.size()) return false;
  if (!absl::SimpleAtoi(name.substr(dot + 1), suffix)) {
    *suffix = 0;
    return false;
  }
  *root = name.substr(0, dot);
  return true;
}

}  // namespace

bool IsSanitizedName(absl::string_view name) {
  if (name.empty()) return false;
  if (!absl::ascii_isalpha(static_cast<unsigned char>(name[0])) && name[0] != '_') return false;
  for (const char c : name) {
    if (!IsNameChar(c)) return false;
  }
  if (name[0] == '_') return !HasReservedPrefix(name);
  return name.size() > 13 || !IsReserved(name);
}

std::string SanitizedName(absl::string_view name) {
  if (name.empty()) return "";
  std::string result(name);
  if (!absl::ascii_isalpha(static_cast<unsigned char>(result[0])) && result[0] != '_') {
    result[0] = '_';
  }
  for (char& c : result) {
    if (!IsNameChar(c)) c = '_';
  }
  if (IsReserved(result)) result += '_';
  if (HasReservedPrefix(result)) result[0] = 'a';
  return result;
}

bool NameUniquer::Suffixes::Insert(int64_t suffix) {
  if (!any) {
    any = true;
    first = suffix;
    return true;
  }
  if (suffix == first) return false;
  return others.insert(suffix).second;
}

bool NameUniquer::Take(absl::string_view name, std::string* renamed) {
  absl::string_view root;
  int64_t suffix;
  const bool has_suffix = SplitSuffix(name, &root, &suffix);
  Suffixes& taken = suffixes_[root];
  if (taken.Insert(suffix)) {
    if (!has_suffix) return true;
    // A suffix like "007" is not what the number would be written as.
    const absl::string_view written = name.substr(root.size() + 1);
    const bool canonical = written[0] != '0' && written[0] != '-';
    if (canonical || written == "0") return true;
  } else {
    while (!taken.Insert(taken.next)) ++taken.next;
    suffix = taken.next++;
  }
  *renamed = suffix == 0 && !has_suffix ? std::string(root) : absl::StrCat(root, ".", suffix);
  return *renamed == name;
}

}  // namespace autotune
