#include "hlo/read_module.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hlo/beside_module.h"
#include "hlo/parser.h"
#include "hlo/printer.h"
#include "hlo/proto_bytes.h"
#include "hlo/proto_upgrade.h"
#include "hlo/read_file.h"

namespace autotune {
namespace {

using google::protobuf::Arena;

constexpr absl::string_view kPackage = "autotune.proto.";

constexpr std::pair<HloFormat, absl::string_view> kFormatNames[] = {
    {HloFormat::kAuto, "auto"},           {HloFormat::kText, "hlo"},
    {HloFormat::kModuleProto, "pb"},      {HloFormat::kHloProto, "hloproto"},
    {HloFormat::kSnapshot, "snapshot"},   {HloFormat::kWithConfig, "hlo_with_config"},
    {HloFormat::kTextProto, "pbtxt"},     {HloFormat::kTuningData, "tuning"},
    {HloFormat::kStableHlo, "stablehlo"},
};

constexpr absl::string_view kStableHloAdvice =
    "this is StableHLO (MLIR), which only a PJRT plugin can turn into HLO. To get HLO directly: in "
    "JAX jax.jit(f).lower(*args).as_text(\"hlo\"); in TensorFlow "
    "f.experimental_get_compiler_ir(*args)(stage=\"hlo\"); in PyTorch/XLA "
    "torch_xla._XLAC._get_xla_tensors_hlo([tensor]); or run with "
    "XLA_FLAGS=--xla_dump_to=DIR and take DIR/*before_optimizations.txt";

absl::Status Error(const std::string& name, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", message));
}

// Remembers the first error of the protobuf text parser.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (message_.empty()) message_ = absl::StrCat(line + 1, ":", column + 1, ": ", message);
  }
  const std::string& message() const { return message_; }

 private:
  std::string message_;
};

// The content as a message of the given type; `name` names it in errors.
template <typename Message>
absl::StatusOr<Message*> ParseBinary(absl::string_view content, const std::string& name,
                                     Arena* arena) {
  Message* message = Arena::CreateMessage<Message>(arena);
  const absl::Status status = ParseProtoBytes(content, message);
  if (status.ok()) return message;
  return Error(
      name, absl::StrCat("read as ", message->GetTypeName().substr(kPackage.size()),
                         ", the content ", status.message(), " (truncated, or of another kind?)"));
}

// A module's message and those around it, which an arena owns; null where there is none.
struct ModuleMessages {
  proto::HloModuleProto* module = nullptr;
  proto::HloProto* whole = nullptr;
  // An HloSnapshot or HloModuleProtoWithConfig.
  google::protobuf::Message* outer = nullptr;
};

ModuleMessages InWhole(proto::HloProto* whole, google::protobuf::Message* outer = nullptr) {
  return {.module = whole->mutable_hlo_module(), .whole = whole, .outer = outer};
}

// What is wrong with the text as a text of *message; empty if it could be read.
std::string ParseTextAs(const std::string& content, google::protobuf::Message* message) {
  FirstError errors;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.SetRecursionLimit(100);
  return parser.ParseFromString(content, message) ? "" : errors.message();
}

absl::StatusOr<ModuleMessages> ParseTextProto(const std::string& content, const std::string& name,
                                              Arena* arena) {
  auto* whole = Arena::CreateMessage<proto::HloProto>(arena);
  const std::string whole_error = ParseTextAs(content, whole);
  if (whole_error.empty() && whole->has_hlo_module()) return InWhole(whole);
  auto* snapshot = Arena::CreateMessage<proto::HloSnapshot>(arena);
  const std::string snapshot_error = ParseTextAs(content, snapshot);
  if (snapshot_error.empty() && snapshot->hlo().has_hlo_module()) {
    return InWhole(snapshot->mutable_hlo(), snapshot);
  }
  auto* module = Arena::CreateMessage<proto::HloModuleProto>(arena);
  const std::string module_error = ParseTextAs(content, module);
  if (module_error.empty()) return ModuleMessages{.module = module};
  return absl::InvalidArgumentError(absl::StrCat(
      name, ":", module_error, " (read as a text HloModuleProto; as a text HloProto: ", whole_error,
      "; as a text HloSnapshot: ", snapshot_error, ")"));
}

absl::StatusOr<ModuleMessages> ParseProto(const std::string& content, const std::string& name,
                                          HloFormat format, Arena* arena) {
  switch (format) {
    case HloFormat::kModuleProto: {
      auto module = ParseBinary<proto::HloModuleProto>(content, name, arena);
      if (!module.ok()) return module.status();
      return ModuleMessages{.module = *module};
    }
    case HloFormat::kHloProto: {
      auto proto = ParseBinary<proto::HloProto>(content, name, arena);
      if (!proto.ok()) return proto.status();
      return InWhole(*proto);
    }
    case HloFormat::kSnapshot: {
      auto snapshot = ParseBinary<proto::HloSnapshot>(content, name, arena);
      if (!snapshot.ok()) return snapshot.status();
      return InWhole((*snapshot)->mutable_hlo(), *snapshot);
    }
    case HloFormat::kWithConfig: {
      auto proto = ParseBinary<proto::HloModuleProtoWithConfig>(content, name, arena);
      if (!proto.ok()) return proto.status();
      return ModuleMessages{.module = (*proto)->mutable_hlo_module(), .outer = *proto};
    }
    default:
      return ParseTextProto(content, name, arena);
  }
}

// Reads the module of a protobuf of any form but TuningData.
absl::StatusOr<ReadModuleResult> ReadProtoModule(const std::string& content,
                                                 const std::string& name, HloFormat format,
                                                 const ReadOptions& options) {
  BesideModule beside;
  const auto parse = [&](Arena* arena) -> absl::StatusOr<proto::HloModuleProto*> {
    const absl::StatusOr<ModuleMessages> messages = ParseProto(content, name, format, arena);
    if (!messages.ok()) return messages.status();
    const bool keep = options.keep_beside && (messages->whole != nullptr || messages->outer);
    const std::vector<int64_t> ids =
        keep ? InstructionIds(*messages->module) : std::vector<int64_t>();
    UpgradeModuleProto(messages->module);
    if (keep) beside = TakeBeside(messages->whole, messages->outer, ids);
    return messages->module;
  };
  absl::StatusOr<std::unique_ptr<HloModule>> module =
      HloModule::FromArena(parse, options.keep_unknown);
  if (module.ok()) return ReadModuleResult{*std::move(module), format, std::move(beside)};
  // Errors of the decoder name the file already.
  const absl::string_view message = module.status().message();
  const bool named = message.substr(0, name.size()) == name;
  return named ? module.status() : Error(name, message);
}

std::string NotRecognised(absl::string_view content) {
  if (content.empty()) return "the file is empty";
  if (content.find_first_not_of(" \t\r\n") == absl::string_view::npos) {
    return "the file holds nothing but white space";
  }
  return "the content is no program in HLO: it looks like neither HLO text nor a protobuf "
         "(HloModuleProto, HloProto, HloSnapshot, HloModuleProtoWithConfig, binary or text), nor "
         "StableHLO; --format can force one";
}

}  // namespace

absl::string_view HloFormatName(HloFormat format) {
  for (const auto& [known, name] : kFormatNames) {
    if (known == format) return name;
  }
  return "auto";
}

std::optional<HloFormat> HloFormatFromName(absl::string_view name) {
  for (const auto& [format, known] : kFormatNames) {
    if (known == name) return format;
  }
  return std::nullopt;
}

absl::StatusOr<ReadModuleResult> ReadModule(std::string content, const std::string& name,
                                            const ReadOptions& options) {
  HloFormat format = options.format;
  if (format == HloFormat::kAuto) {
    const std::optional<HloFormat> detected = DetectHloFormat(content);
    if (!detected.has_value()) return Error(name, NotRecognised(content));
    format = *detected;
  }
  if (format == HloFormat::kStableHlo) return Error(name, kStableHloAdvice);
  if (format == HloFormat::kTuningData) {
    return Error(name, "this is a recording (TuningData), not a program");
  }
  if (format != HloFormat::kText) return ReadProtoModule(content, name, format, options);
  absl::StatusOr<std::unique_ptr<HloModule>> module =
      ParseHloText(std::move(content), {.file_name = name, .keep_unknown = options.keep_unknown});
  if (!module.ok()) return module.status();
  return ReadModuleResult{*std::move(module), format};
}

absl::StatusOr<ReadModuleResult> ReadModuleFile(const std::string& path,
                                                const ReadOptions& options) {
  absl::StatusOr<std::string> content = ReadWholeFile(path);
  if (!content.ok()) return content.status();
  return ReadModule(*std::move(content), path == "-" ? "<stdin>" : path, options);
}

absl::StatusOr<std::string> WriteModule(const HloModule& module, HloFormat format,
                                        const BesideModule& beside) {
  if (format == HloFormat::kText) return PrintHlo(module);
  proto::HloProto whole;
  module.ToProto(whole.mutable_hlo_module());
  std::string out;
  if (format == HloFormat::kTextProto) {
    // Protobuf prints unknown fields, but does not read them back.
    google::protobuf::TextFormat::Printer printer;
    printer.SetHideUnknownFields(true);
    printer.PrintToString(whole.hlo_module(), &out);
    return out;
  }
  if (format != HloFormat::kModuleProto && format != HloFormat::kHloProto) {
    return absl::InvalidArgumentError(
        absl::StrCat("modules are not written as ", HloFormatName(format)));
  }
  google::protobuf::io::StringOutputStream stream(&out);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  const bool ok = format == HloFormat::kHloProto
                      ? whole.SerializeToCodedStream(&coded)
                      : whole.hlo_module().SerializeToCodedStream(&coded);
  coded.Trim();
  if (!ok) return absl::InternalError("the module cannot be serialised");
  // Messages are merged by appending one to the other.
  if (format == HloFormat::kHloProto) out += beside.hlo_proto;
  return out;
}

}  // namespace autotune
