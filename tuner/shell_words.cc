#include "tuner/shell_words.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace autotune {

std::string ShellWord(const std::string& word) {
  const bool plain = std::all_of(word.begin(), word.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           (c != 0 && std::strchr("-_./:=+,@%", c) != nullptr);
  });
  if (plain && !word.empty()) return word;
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

std::string ShellCommand(const std::vector<std::string>& words) {
  return absl::StrJoin(words, " ", [](std::string* out, const std::string& word) {
    absl::StrAppend(out, ShellWord(word));
  });
}

}  // namespace autotune
