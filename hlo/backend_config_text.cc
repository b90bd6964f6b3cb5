#include "hlo/backend_config_text.h"

#include <cstring>
#include <initializer_list>
#include <string>

#include "absl/strings/ascii.h"

namespace autotune {
namespace {

constexpr absl::string_view kField = "\"wait_on_operation_queues\"";

// Where the field stands from `from` on. Not string_view::find: configurations are full of quotes,
// each of which that would stop at.
size_t FindField(absl::string_view text, size_t from) {
  // An empty text may be a null pointer, which memmem does not take.
  if (text.size() - from < kField.size()) return absl::string_view::npos;
  const void* found = memmem(text.data() + from, text.size() - from, kField.data(), kField.size());
  if (found == nullptr) return absl::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

// How many characters behind kField are white space and `: [ ] ,`; 0 if that does not follow.
size_t EmptyListLength(absl::string_view text) {
  size_t at = 0;
  for (const char wanted : {':', '[', ']', ','}) {
    while (at < text.size() && absl::ascii_isspace(static_cast<unsigned char>(text[at]))) ++at;
    if (at == text.size() || text[at] != wanted) return 0;
    ++at;
  }
  return at;
}

}  // namespace

absl::string_view NormalizedBackendConfig(absl::string_view config, ModuleBuilder* builder) {
  size_t found = FindField(config, 0);
  if (found == absl::string_view::npos) return config;
  std::string kept;
  size_t from = 0;
  while (found != absl::string_view::npos) {
    const size_t behind = found + kField.size();
    const size_t length = EmptyListLength(config.substr(behind));
    kept.append(config.data() + from, (length == 0 ? behind : found) - from);
    from = behind + length;
    found = FindField(config, from);
  }
  kept.append(config.data() + from, config.size() - from);
  return builder->Copy(kept);
}

}  // namespace autotune
