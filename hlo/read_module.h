#ifndef AUTOTUNE_HLO_READ_MODULE_H_
#define AUTOTUNE_HLO_READ_MODULE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlo/module.h"

namespace autotune {

// The forms in which a program in HLO comes.
enum class HloFormat {
  kAuto,         // told from the content
  kText,         // HLO text
  kModuleProto,  // HloModuleProto, binary
  kHloProto,     // HloProto, binary: what `--xla_dump_hlo_as_proto` writes
  kSnapshot,     // HloSnapshot, binary: a program with its arguments and result
  kWithConfig,   // HloModuleProtoWithConfig, binary: what a PJRT plugin gives
  kTextProto,    // HloModuleProto, HloProto or HloSnapshot as protobuf text
  kTuningData,   // a TpuGraphs recording, binary; ReadModule refuses it, hardware/recording.h reads
                 // it
  kStableHlo,    // MLIR, text or bytecode; ReadModule refuses it, a PJRT plugin can import it
};

// The name on the command line: "auto", "hlo", "pb", "hloproto", "snapshot", "hlo_with_config",
// "pbtxt", "tuning", "stablehlo".
absl::string_view HloFormatName(HloFormat format);
std::optional<HloFormat> HloFormatFromName(absl::string_view name);

// What the content looks like; nothing if it looks like none of the forms. Looks at the outline
// only: reading may still fail.
std::optional<HloFormat> DetectHloFormat(absl::string_view content);

struct ReadOptions {
  HloFormat format = HloFormat::kAuto;
  // See ParseOptions::keep_unknown.
  bool keep_unknown = false;
  // Whether ReadModuleResult::beside is to be filled in.
  bool keep_beside = false;
};

// What a file holds beside its module.
struct BesideModule {
  // The fields of the HloProto, but for the module: buffer assignment and unknown ones, serialised.
  std::string hlo_proto;
  // What that is, and what else there is: "buffer_assignment", "arguments", "field 7", ...
  std::vector<std::string> hlo_proto_fields;
  std::vector<std::string> other_fields;
};

// A module and the form that it was read from.
struct ReadModuleResult {
  std::unique_ptr<HloModule> module;
  HloFormat format;
  // Empty unless ReadOptions::keep_beside is set.
  BesideModule beside = {};
};

// Reads a module from `content`; `name` names it in errors. Fails with InvalidArgument: for text
// with file, line and column, for binary forms with what was tried, for StableHLO with how to get
// HLO.
absl::StatusOr<ReadModuleResult> ReadModule(std::string content, const std::string& name,
                                            const ReadOptions& options = {});

// The same for a file; "-" is standard input. NotFound, PermissionDenied or another code if the
// file cannot be read.
absl::StatusOr<ReadModuleResult> ReadModuleFile(const std::string& path,
                                                const ReadOptions& options = {});

// The files that an argument of a command stands for, sorted: the argument itself if it is a file
// or
// "-", the files in a directory (and below) whose content is a module, and what a pattern with `*`,
// `?` or `[` matches. NotFound if there is nothing.
absl::StatusOr<std::vector<std::string>> FindModuleFiles(const std::string& argument);

// The module in the given form (text, kModuleProto, kHloProto or kTextProto). Binary forms are
// deterministic and keep unknown fields, text forms have no place for them. kHloProto takes what
// stands beside the module from `beside`. InvalidArgument for other forms.
absl::StatusOr<std::string> WriteModule(const HloModule& module, HloFormat format,
                                        const BesideModule& beside = {});

}  // namespace autotune

#endif  // AUTOTUNE_HLO_READ_MODULE_H_
