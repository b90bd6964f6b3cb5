#include "hardware/pjrt_plugin.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "proto/compile_options.pb.h"

#ifdef AUTOTUNE_HAS_PJRT
#include <dlfcn.h>

#include "google/protobuf/io/coded_stream.h"
#include "hardware/pjrt_api.h"
#endif

namespace autotune {

std::string SingleDeviceCompileOptions(const CompilerOverrides& overrides) {
  proto::CompileOptionsProto options;
  options.mutable_executable_build_options()->set_num_replicas(1);
  options.mutable_executable_build_options()->set_num_partitions(1);
  for (const auto& [name, value] : overrides) {
    proto::OptionOverrideProto& option = (*options.mutable_env_option_overrides())[name];
    if (const bool* flag = std::get_if<bool>(&value)) option.set_bool_field(*flag);
    if (const auto* text = std::get_if<std::string>(&value)) option.set_string_field(*text);
  }
  return options.SerializeAsString();
}

#ifdef AUTOTUNE_HAS_PJRT

bool HasPjrtSupport() { return true; }

absl::Status TakePjrtError(const PJRT_Api& api, PJRT_Error* error) {
  if (error == nullptr) return absl::OkStatus();
  AUTOTUNE_PJRT_ARGS(PJRT_Error_Message_Args, message);
  message.error = error;
  api.PJRT_Error_Message(&message);
  AUTOTUNE_PJRT_ARGS(PJRT_Error_GetCode_Args, code);
  code.error = error;
  code.code = PJRT_Error_Code_UNKNOWN;
  PJRT_Error* second = api.PJRT_Error_GetCode(&code);
  absl::Status status(static_cast<absl::StatusCode>(code.code),
                      absl::string_view(message.message, message.message_size));
  for (PJRT_Error* used : {error, second}) {
    if (used == nullptr) continue;
    AUTOTUNE_PJRT_ARGS(PJRT_Error_Destroy_Args, destroy);
    destroy.error = used;
    api.PJRT_Error_Destroy(&destroy);
  }
  // A plugin that reports an error with code OK still reports an error.
  return status.ok() ? absl::UnknownError("the plugin reported an error without a code") : status;
}

struct PjrtPlugin::Impl {
  const PJRT_Api* api;
};

struct PjrtTopology::Impl {
  const PJRT_Api* api;
  PJRT_TopologyDescription* topology;
};

PjrtPlugin::PjrtPlugin(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PjrtPlugin::~PjrtPlugin() = default;
const void* PjrtPlugin::api() const { return impl_->api; }

absl::StatusOr<std::unique_ptr<PjrtPlugin>> PjrtPlugin::Load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return absl::NotFoundError(absl::StrCat("cannot load: ", dlerror()));
  auto get_api = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"));
  if (get_api == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is no PJRT plugin: no GetPjrtApi"));
  }
  const PJRT_Api* api = get_api();
  if (api == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": GetPjrtApi returned nothing"));
  }
  if (api->pjrt_api_version.major_version != PJRT_API_MAJOR) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " has version ", api->pjrt_api_version.major_version, ".",
                     api->pjrt_api_version.minor_version,
                     " of the PJRT API; this program needs version ", PJRT_API_MAJOR, ".x"));
  }
  AUTOTUNE_PJRT_ARGS(PJRT_Plugin_Initialize_Args, initialize);
  absl::Status status = AUTOTUNE_PJRT_CALL(*api, PJRT_Plugin_Initialize, initialize);
  if (!status.ok()) return status;
  return std::unique_ptr<PjrtPlugin>(new PjrtPlugin(std::make_unique<Impl>(Impl{api})));
}

std::string PjrtPlugin::api_version() const {
  const PJRT_Api_Version& version = impl_->api->pjrt_api_version;
  return absl::StrCat(version.major_version, ".", version.minor_version);
}

std::vector<std::pair<std::string, std::string>> PjrtPlugin::Attributes() const {
  std::vector<std::pair<std::string, std::string>> result;
  AUTOTUNE_PJRT_ARGS(PJRT_Plugin_Attributes_Args, args);
  if (!AUTOTUNE_PJRT_CALL(*impl_->api, PJRT_Plugin_Attributes, args).ok()) return result;
  for (size_t i = 0; i < args.num_attributes; ++i) {
    const PJRT_NamedValue& value = args.attributes[i];
    std::string text;
    if (value.type == PJRT_NamedValue_kString) {
      text.assign(value.string_value, value.value_size);
    } else if (value.type == PJRT_NamedValue_kInt64) {
      text = absl::StrCat(value.int64_value);
    } else if (value.type == PJRT_NamedValue_kInt64List) {
      for (size_t j = 0; j < value.value_size; ++j) {
        absl::StrAppend(&text, j == 0 ? "" : ".", value.int64_array_value[j]);
      }
    }
    result.emplace_back(std::string(value.name, value.name_size), std::move(text));
  }
  return result;
}

absl::StatusOr<std::unique_ptr<PjrtTopology>> PjrtPlugin::CreateTopology(
    absl::string_view name) const {
  AUTOTUNE_PJRT_ARGS(PJRT_TopologyDescription_Create_Args, args);
  args.topology_name = name.data();
  args.topology_name_size = name.size();
  absl::Status status = AUTOTUNE_PJRT_CALL(*impl_->api, PJRT_TopologyDescription_Create, args);
  if (!status.ok()) return status;
  return std::unique_ptr<PjrtTopology>(new PjrtTopology(
      std::make_unique<PjrtTopology::Impl>(PjrtTopology::Impl{impl_->api, args.topology})));
}

PjrtTopology::PjrtTopology(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

PjrtTopology::~PjrtTopology() {
  AUTOTUNE_PJRT_ARGS(PJRT_TopologyDescription_Destroy_Args, args);
  args.topology = impl_->topology;
  (void)AUTOTUNE_PJRT_CALL(*impl_->api, PJRT_TopologyDescription_Destroy, args);
}

std::string PjrtTopology::PlatformVersion() const {
  AUTOTUNE_PJRT_ARGS(PJRT_TopologyDescription_PlatformVersion_Args, args);
  args.topology = impl_->topology;
  if (!AUTOTUNE_PJRT_CALL(*impl_->api, PJRT_TopologyDescription_PlatformVersion, args).ok()) {
    return "";
  }
  return std::string(args.platform_version, args.platform_version_size);
}

namespace {

// The module in the first field of an HloModuleProtoWithConfig.
absl::StatusOr<std::string> ModuleWithoutConfig(const std::string& bytes) {
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()),
                                               static_cast<int>(bytes.size()));
  uint32_t length = 0;
  std::string module;
  constexpr uint32_t kFirstFieldAsBytes = (1 << 3) | 2;
  if (input.ReadTag() != kFirstFieldAsBytes || !input.ReadVarint32(&length) ||
      !input.ReadString(&module, static_cast<int>(length))) {
    return absl::DataLossError("the plugin's optimised program cannot be read");
  }
  return module;
}

}  // namespace

absl::StatusOr<std::string> ReadOptimizedModule(const PJRT_Api& api, PJRT_Executable* executable) {
  AUTOTUNE_PJRT_ARGS(PJRT_Executable_OptimizedProgram_Args, args);
  AUTOTUNE_PJRT_ARGS(PJRT_Program, program);
  args.executable = executable;
  args.program = &program;
  absl::Status status = AUTOTUNE_PJRT_CALL(api, PJRT_Executable_OptimizedProgram, args);
  if (!status.ok()) return status;
  std::string code(program.code_size, '\0');
  program.code = code.data();
  status = AUTOTUNE_PJRT_CALL(api, PJRT_Executable_OptimizedProgram, args);
  if (!status.ok()) return status;
  const absl::string_view format(program.format, program.format_size);
  if (format == "hlo") return code;
  if (format == "hlo_with_config") return ModuleWithoutConfig(code);
  return absl::UnimplementedError(absl::StrCat("an optimised program of format ", format));
}

absl::StatusOr<std::string> SerializeExecutable(const PJRT_Api& api, PJRT_Executable* executable) {
  AUTOTUNE_PJRT_ARGS(PJRT_Executable_Serialize_Args, args);
  args.executable = executable;
  absl::Status status = AUTOTUNE_PJRT_CALL(api, PJRT_Executable_Serialize, args);
  if (!status.ok()) return status;
  std::string bytes(args.serialized_bytes, args.serialized_bytes_size);
  if (args.serialized_executable_deleter != nullptr) {
    args.serialized_executable_deleter(args.serialized_executable);
  }
  return bytes;
}

absl::StatusOr<AheadOfTimeResult> PjrtTopology::Compile(const PjrtProgram& program,
                                                        absl::string_view options,
                                                        bool serialize) const {
  const PJRT_Api& api = *impl_->api;
  ApiProgram source(program);
  AUTOTUNE_PJRT_ARGS(PJRT_Compile_Args, args);
  args.topology = impl_->topology;
  args.program = source.get();
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  const absl::Time start = absl::Now();
  absl::Status status = AUTOTUNE_PJRT_CALL(api, PJRT_Compile, args);
  if (!status.ok()) return status;
  const absl::Time compiled = absl::Now();
  absl::StatusOr<std::string> optimized = ReadOptimizedModule(api, args.executable);
  absl::StatusOr<std::string> bytes = std::string();
  if (serialize) bytes = SerializeExecutable(api, args.executable);
  AUTOTUNE_PJRT_ARGS(PJRT_Executable_Destroy_Args, destroy);
  destroy.executable = args.executable;
  status = AUTOTUNE_PJRT_CALL(api, PJRT_Executable_Destroy, destroy);
  if (!optimized.ok()) return optimized.status();
  if (!bytes.ok()) return bytes.status();
  if (!status.ok()) return status;
  return AheadOfTimeResult{*std::move(optimized), *std::move(bytes),
                           absl::ToDoubleSeconds(compiled - start),
                           absl::ToDoubleSeconds(absl::Now() - compiled)};
}

#else  // AUTOTUNE_HAS_PJRT

namespace {
absl::Status NotBuilt() {
  return absl::UnimplementedError(
      "autotune was built without the C header of the PJRT API: run ./autotune --with aot");
}
}  // namespace

struct PjrtPlugin::Impl {};
struct PjrtTopology::Impl {};

bool HasPjrtSupport() { return false; }
PjrtPlugin::PjrtPlugin(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PjrtPlugin::~PjrtPlugin() = default;
const void* PjrtPlugin::api() const { return nullptr; }
std::string PjrtPlugin::api_version() const { return ""; }
std::vector<std::pair<std::string, std::string>> PjrtPlugin::Attributes() const { return {}; }
PjrtTopology::PjrtTopology(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PjrtTopology::~PjrtTopology() = default;
std::string PjrtTopology::PlatformVersion() const { return ""; }

absl::StatusOr<std::unique_ptr<PjrtPlugin>> PjrtPlugin::Load(const std::string&) {
  return NotBuilt();
}
absl::StatusOr<std::unique_ptr<PjrtTopology>> PjrtPlugin::CreateTopology(absl::string_view) const {
  return NotBuilt();
}
absl::StatusOr<AheadOfTimeResult> PjrtTopology::Compile(const PjrtProgram&, absl::string_view,
                                                        bool) const {
  return NotBuilt();
}

#endif  // AUTOTUNE_HAS_PJRT

}  // namespace autotune
