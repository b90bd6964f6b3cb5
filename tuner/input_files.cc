#include "tuner/input_files.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "hardware/stablehlo_import.h"
#include "hlo/read_file.h"
#include "hlo/verifier.h"
#include "tuner/command_status.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

// So much of a line is shown on each side of an error.
constexpr size_t kErrorContext = 60;

// The line with this number, from 1; empty if there is none.
absl::string_view LineOf(absl::string_view text, int32_t number) {
  for (int32_t i = 1; i < number; ++i) {
    const size_t end = text.find('\n');
    if (end == absl::string_view::npos) return "";
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find_first_of("\r\n"));
}

// Where the instruction's name stands in its line, from 0; else where the line's text begins.
size_t ColumnOf(absl::string_view line, const std::string& instruction) {
  const auto part_of_name = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
  };
  for (size_t at = line.find(instruction); at != absl::string_view::npos && !instruction.empty();
       at = line.find(instruction, at + 1)) {
    const size_t end = at + instruction.size();
    if ((at == 0 || !part_of_name(line[at - 1])) &&
        (end == line.size() || !part_of_name(line[end]))) {
      return at;
    }
  }
  const size_t begin = line.find_first_not_of(" \t");
  return begin == absl::string_view::npos ? 0 : begin;
}

// "  the line\n      ^", with both ends of a long line cut.
std::string Excerpt(absl::string_view line, size_t column) {
  const size_t from = column > kErrorContext ? column - kErrorContext : 0;
  const bool cut = from + 2 * kErrorContext < line.size();
  std::string shown(line.substr(from, 2 * kErrorContext));
  std::replace(shown.begin(), shown.end(), '\t', ' ');
  const std::string before = from > 0 ? "..." : "";
  return absl::StrCat("  ", before, shown, cut ? "..." : "", "\n  ",
                      std::string(before.size() + column - from, ' '), "^");
}

absl::Status StatusOf(VerifierError error, const std::string& name, absl::string_view text) {
  const int32_t number = std::exchange(error.line, 0);
  if (number == 0) return absl::InvalidArgumentError(absl::StrCat(name, ": ", error.ToString()));
  const absl::string_view line = LineOf(text, number);
  if (line.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ":", number, ": ", error.ToString()));
  }
  const size_t column = ColumnOf(line, error.instruction);
  return absl::InvalidArgumentError(absl::StrCat(name, ":", number, ":", column + 1, ": ",
                                                 error.ToString(), "\n", Excerpt(line, column)));
}

// " (...)" for what begins like a protobuf whose first field, a message, is longer than the file.
std::string CutOffHint(absl::string_view content) {
  constexpr char kFirstFieldIsAMessage = 0x0a;
  if (content.size() < 2 || content[0] != kFirstFieldIsAMessage) return "";
  uint64_t length = 0;
  size_t at = 1;
  for (int shift = 0; at < content.size() && shift < 35; ++at, shift += 7) {
    const auto byte = static_cast<unsigned char>(content[at]);
    length |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) break;
  }
  const size_t there = content.size() - std::min(content.size(), at + 1);
  if (length <= there) return "";
  return absl::StrCat(
      "\n  It begins like a protobuf, a program or a recording, that is cut off: its first part "
      "should have ",
      FormatCount(static_cast<int64_t>(length)), " bytes, of which ",
      FormatCount(static_cast<int64_t>(there)), " are there");
}

absl::StatusOr<ReadModuleResult> ReadStableHlo(const std::string& content,
                                               const std::string& name) {
  absl::StatusOr<std::unique_ptr<HloModule>> module = ImportStableHlo(content);
  if (module.ok()) return ReadModuleResult{*std::move(module), HloFormat::kStableHlo};
  const std::string message(module.status().message());
  if (module.status().code() != absl::StatusCode::kNotFound &&
      module.status().code() != absl::StatusCode::kUnimplemented) {
    return absl::Status(module.status().code(), absl::StrCat(name, ": ", message));
  }
  const absl::Status advice = ReadModule(content, name, {.format = HloFormat::kStableHlo}).status();
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(advice.message()), "\n  No plugin can import it here: ", message));
}

}  // namespace

std::string InputName(const std::string& path) { return path == "-" ? "<stdin>" : path; }

bool IsRecordingContent(absl::string_view content) {
  return Recording::LooksLikeRecording(content) ||
         DetectHloFormat(content) == HloFormat::kTuningData;
}

absl::StatusOr<ReadModuleResult> ReadInputModule(std::string content, const std::string& name,
                                                 const ReadOptions& options,
                                                 absl::Status* verified) {
  if (content.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": the file is empty"));
  }
  const bool stablehlo =
      (options.format == HloFormat::kAuto ? DetectHloFormat(content) : options.format) ==
      HloFormat::kStableHlo;
  const std::string hint = CutOffHint(content);
  std::string text = content;  // ReadModule keeps the other copy
  absl::StatusOr<ReadModuleResult> read =
      stablehlo ? ReadStableHlo(content, name) : ReadModule(std::move(content), name, options);
  if (!read.ok()) {
    if (hint.empty()) return read.status();
    return absl::Status(read.status().code(),
                        absl::StrCat(std::string(read.status().message()), hint));
  }
  if (read->format != HloFormat::kText) text.clear();
  std::vector<VerifierError> errors = VerifyModule(*read->module, 1);
  *verified = errors.empty() ? absl::OkStatus() : StatusOf(std::move(errors.front()), name, text);
  return read;
}

absl::StatusOr<ReadModuleResult> ReadVerifiedModule(std::string content, const std::string& name,
                                                    const ReadOptions& options) {
  absl::Status verified;
  absl::StatusOr<ReadModuleResult> read =
      ReadInputModule(std::move(content), name, options, &verified);
  if (read.ok() && !verified.ok()) return verified;
  return read;
}

absl::StatusOr<Recording> LoadRecording(const std::string& path) {
  absl::StatusOr<std::string> content = ReadWholeFile(path);
  if (!content.ok()) return WithExitCode(kExitBadInput, content.status());
  absl::StatusOr<Recording> recording = Recording::Parse(*content, InputName(path));
  return recording.ok() ? std::move(recording) : WithExitCode(kExitBadInput, recording.status());
}

}  // namespace autotune
