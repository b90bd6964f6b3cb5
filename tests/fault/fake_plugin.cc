// A PJRT plugin that misbehaves on request. It compiles nothing: the "optimised program" is the
// program itself. Running it gives one f32[32,1024] of ones; in a device loop a trip takes 20 us.
// What goes wrong is named in the program's bytes ("fault-crash" and so on); the version of the API
// that it reports, in the environment variable FAKE_PJRT_API: "old" (its table ends before
// topologies), "ancient" (before clients), "new" (a later minor version, a longer table), "major"
// (another major version). fake_profiler.h says how it gets a profiler.

#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "pjrt_c_api.h"
#include "tests/fault/fake_profiler.h"

struct PJRT_Error {
  PJRT_Error_Code code;
  std::string message;
};
struct PJRT_TopologyDescription {};
struct PJRT_Executable {
  std::string program;
};
struct PJRT_LoadedExecutable {
  std::string program;
};
struct PJRT_DeviceDescription {};
struct PJRT_Device {
  PJRT_DeviceDescription description;
};
struct PJRT_Client {
  PJRT_Device device;
  PJRT_Device* devices[1] = {&device};
};
struct PJRT_Buffer {
  PJRT_Buffer_Type type = PJRT_Buffer_Type_F32;
  std::vector<int64_t> dims;
  std::vector<char> bytes;
};

namespace {

PJRT_Error* Error(PJRT_Error_Code code, const char* message) {
  return new PJRT_Error{code, message};
}

void ErrorDestroy(PJRT_Error_Destroy_Args* args) { delete args->error; }

void ErrorMessage(PJRT_Error_Message_Args* args) {
  args->message = args->error->message.data();
  args->message_size = args->error->message.size();
}

PJRT_Error* ErrorGetCode(PJRT_Error_GetCode_Args* args) {
  args->code = args->error->code;
  return nullptr;
}

// Like libtpu it leaves a log in TMPDIR, whatever its environment says of logs.
PJRT_Error* Initialize(PJRT_Plugin_Initialize_Args*) {
  const char* folder = std::getenv("TMPDIR");
  const std::string path = std::string(folder == nullptr ? "/tmp" : folder) + "/fake_driver.log";
  if (FILE* log = std::fopen(path.c_str(), "a")) {
    std::fputs("initialised\n", log);
    std::fclose(log);
  }
  return nullptr;
}

PJRT_Error* TopologyCreate(PJRT_TopologyDescription_Create_Args* args) {
  const std::string_view name(args->topology_name, args->topology_name_size);
  if (name != "v3:2x2") return Error(PJRT_Error_Code_INVALID_ARGUMENT, "no such topology");
  args->topology = new PJRT_TopologyDescription;
  return nullptr;
}

PJRT_Error* TopologyDestroy(PJRT_TopologyDescription_Destroy_Args* args) {
  delete args->topology;
  return nullptr;
}

PJRT_Error* TopologyVersion(PJRT_TopologyDescription_PlatformVersion_Args* args) {
  static constexpr std::string_view kVersion = "fake compiler 1\nwith a second line";
  args->platform_version = kVersion.data();
  args->platform_version_size = kVersion.size();
  return nullptr;
}

// The value of an option in LIBTPU_INIT_ARGS.
std::string InitArgument(const std::string& name) {
  const char* all = std::getenv("LIBTPU_INIT_ARGS");
  const std::string text = all == nullptr ? "" : all;
  const size_t at = text.find(name + "=");
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 1;
  return text.substr(begin, text.find(' ', begin) - begin);
}

void WriteSchedule(const char* text) {
  const std::string folder = InitArgument("--xla_jf_dump_to");
  if (folder.empty()) return;  // not compiling ahead of time
  const std::string path = folder + "/1-kernel-01-final_bundles.txt";
  if (FILE* file = std::fopen(path.c_str(), "w")) {
    std::fputs(text, file);
    std::fclose(file);
  }
}

constexpr char kSchedule[] =
    "     0   :  { %1 = vnop }\n"
    "   0x1 LB: > { %s2_s1 = sadd.s32 1, %s1_s0 }\n"
    "   0x2   : > { %p4_p2 = scmp.ge.s32.totalorder %s2_s1, 100 /* loop exit test */ }\n"
    "   0x3   : > { %5 = sbr.rel (!%p4_p2) target = $region9 }\n"
    "   0x4   :  { %6 = vnop }\n";

// Takes memory until something stops it: at once more than the tests allow, so that it is found out
// long before a time-out, on a busy machine too.
[[noreturn]] void Leak() {
  for (size_t bytes = 256 << 20;; bytes = 4 << 20) {
    mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    usleep(20000);
  }
}

// Does what the program asks for; else turns it into what it compiles to.
PJRT_Error* CompileProgram(const PJRT_Program& source, std::string* compiled) {
  std::string program(source.code, source.code_size);
  const auto asked = [&](const char* fault) { return program.find(fault) != std::string::npos; };
  if (asked("fault-crash")) {
    std::fputs("Check failed: the window fits\n", stderr);
    std::raise(SIGILL);
  }
  if (asked("fault-disk")) {
    std::fputs("Check failed: the schedule is written: No space left on device\n", stderr);
    std::abort();
  }
  if (asked("fault-exit")) _exit(3);
  if (asked("fault-orphan") && fork() == 0) {
    for (;;) pause();
  }
  if (asked("fault-orphan")) std::abort();
  if (asked("fault-hang")) {
    for (;;) pause();
  }
  if (asked("fault-leak")) Leak();
  if (asked("fault-error")) return Error(PJRT_Error_Code_INVALID_ARGUMENT, "no such opcode");
  if (asked("fault-memory")) return Error(PJRT_Error_Code_RESOURCE_EXHAUSTED, "out of vmem");
  if (asked("fault-code")) return Error(static_cast<PJRT_Error_Code>(0), "");
  WriteSchedule(asked("fault-schedule") ? "0x0 NaN\n" : kSchedule);
  if (asked("fault-garbage")) program = "\xff\xff\xff";
  if (asked("fault-bounds")) {
    // Another bound than was asked for: what a compiler that clamps does.
    const size_t at = program.find("[\"4\",\"8\"]");
    if (at != std::string::npos) program[at + 2] = '2';
  }
  *compiled = std::move(program);
  return nullptr;
}

PJRT_Error* Compile(PJRT_Compile_Args* args) {
  std::string compiled;
  if (PJRT_Error* error = CompileProgram(*args->program, &compiled)) return error;
  args->executable = new PJRT_Executable{std::move(compiled)};
  return nullptr;
}

PJRT_Error* ClientCreate(PJRT_Client_Create_Args* args) {
  args->client = new PJRT_Client;
  return nullptr;
}

PJRT_Error* ClientDestroy(PJRT_Client_Destroy_Args* args) {
  delete args->client;
  return nullptr;
}

PJRT_Error* PlatformName(PJRT_Client_PlatformName_Args* args) {
  static constexpr std::string_view kName = "tpu";
  args->platform_name = kName.data();
  args->platform_name_size = kName.size();
  return nullptr;
}

PJRT_Error* PlatformVersion(PJRT_Client_PlatformVersion_Args* args) {
  static constexpr std::string_view kVersion = "fake runtime 1";
  args->platform_version = kVersion.data();
  args->platform_version_size = kVersion.size();
  return nullptr;
}

PJRT_Error* AddressableDevices(PJRT_Client_AddressableDevices_Args* args) {
  args->addressable_devices = args->client->devices;
  args->num_addressable_devices = 1;
  return nullptr;
}

PJRT_Error* GetDescription(PJRT_Device_GetDescription_Args* args) {
  args->device_description = &args->device->description;
  return nullptr;
}

PJRT_Error* DeviceKind(PJRT_DeviceDescription_Kind_Args* args) {
  static constexpr std::string_view kKind = "TPU v3";
  args->device_kind = kKind.data();
  args->device_kind_size = kKind.size();
  return nullptr;
}

PJRT_Error* ClientCompile(PJRT_Client_Compile_Args* args) {
  std::string compiled;
  if (PJRT_Error* error = CompileProgram(*args->program, &compiled)) return error;
  args->executable = new PJRT_LoadedExecutable{std::move(compiled)};
  return nullptr;
}

PJRT_Error* GetExecutable(PJRT_LoadedExecutable_GetExecutable_Args* args) {
  args->executable = new PJRT_Executable{args->loaded_executable->program};
  return nullptr;
}

PJRT_Error* LoadedDestroy(PJRT_LoadedExecutable_Destroy_Args* args) {
  delete args->executable;
  return nullptr;
}

PJRT_Error* NumOutputs(PJRT_Executable_NumOutputs_Args* args) {
  args->num_outputs = 1;
  return nullptr;
}

PJRT_Error* BufferFromHost(PJRT_Client_BufferFromHostBuffer_Args* args) {
  auto* buffer = new PJRT_Buffer;
  buffer->type = args->type;
  buffer->dims.assign(args->dims, args->dims + args->num_dims);
  const auto* data = static_cast<const char*>(args->data);
  size_t size = 4;  // every array of the tests has elements of 4 bytes, or is a flag
  for (int64_t extent : buffer->dims) size *= static_cast<size_t>(extent);
  if (args->type == PJRT_Buffer_Type_PRED) size = 1;
  buffer->bytes.assign(data, data + size);
  args->buffer = buffer;
  args->done_with_host_buffer = nullptr;
  return nullptr;
}

PJRT_Error* BufferReady(PJRT_Buffer_ReadyEvent_Args* args) {
  args->event = nullptr;
  return nullptr;
}

PJRT_Error* BufferDestroy(PJRT_Buffer_Destroy_Args* args) {
  delete args->buffer;
  return nullptr;
}

PJRT_Error* BufferType(PJRT_Buffer_ElementType_Args* args) {
  args->type = args->buffer->type;
  return nullptr;
}

PJRT_Error* BufferDimensions(PJRT_Buffer_Dimensions_Args* args) {
  args->dims = args->buffer->dims.data();
  args->num_dims = args->buffer->dims.size();
  return nullptr;
}

PJRT_Error* ToHost(PJRT_Buffer_ToHostBuffer_Args* args) {
  std::memcpy(args->dst, args->src->bytes.data(), args->src->bytes.size());
  args->event = nullptr;
  return nullptr;
}

PJRT_Error* Execute(PJRT_LoadedExecutable_Execute_Args* args) {
  const std::string& program = args->executable->program;
  const auto asked = [&](const char* fault) { return program.find(fault) != std::string::npos; };
  if (asked("fault-run-crash")) std::raise(SIGSEGV);
  if (asked("fault-run-hang")) {
    for (;;) pause();
  }
  if (asked("fault-run-leak")) Leak();
  if (asked("fault-run-error")) return Error(PJRT_Error_Code_INTERNAL, "the core halted");
  if (asked("fault-run-memory")) return Error(PJRT_Error_Code_RESOURCE_EXHAUSTED, "out of hbm");
  for (size_t i = 0; i < args->num_args; ++i) {
    const PJRT_Buffer& argument = *args->argument_lists[0][i];
    if (argument.type != PJRT_Buffer_Type_S32 || asked("fault-flat")) continue;
    int32_t trips = 0;
    std::memcpy(&trips, argument.bytes.data(), sizeof(trips));
    usleep(static_cast<useconds_t>(20 * trips));
  }
  // Results are wrong only with the tile of a candidate, not in the unmodified program.
  const bool candidate = asked("window_config");
  float value = 1;
  if (candidate && asked("fault-wrong")) value = 2;
  if (candidate && asked("fault-nan")) value = NAN;
  ProfileExecution();
  auto* output = new PJRT_Buffer;
  output->dims = {32, 1024};
  output->bytes.resize(32 * 1024 * sizeof(float));
  for (size_t i = 0; i < output->bytes.size(); i += sizeof(float)) {
    std::memcpy(&output->bytes[i], &value, sizeof(float));
  }
  args->output_lists[0][0] = output;
  if (args->device_complete_events != nullptr) args->device_complete_events[0] = nullptr;
  return nullptr;
}

// An HloModuleProtoWithConfig whose first field is the module.
std::string WithConfig(const std::string& module) {
  std::string bytes = "\x0a";
  for (size_t size = module.size();; size >>= 7) {
    bytes.push_back(static_cast<char>((size & 127) | (size > 127 ? 128 : 0)));
    if (size <= 127) break;
  }
  return bytes + module;
}

PJRT_Error* OptimizedProgram(PJRT_Executable_OptimizedProgram_Args* args) {
  const std::string bytes = WithConfig(args->executable->program);
  PJRT_Program* program = args->program;
  if (program->code != nullptr) std::memcpy(program->code, bytes.data(), bytes.size());
  program->code_size = bytes.size();
  program->format = "hlo_with_config";
  program->format_size = std::strlen(program->format);
  return nullptr;
}

PJRT_Error* ExecutableDestroy(PJRT_Executable_Destroy_Args* args) {
  delete args->executable;
  return nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  // Longer than this header's table, for a plugin that is newer.
  static struct {
    PJRT_Api api;
    void* later[8];
  } table = {};
  PJRT_Api& api = table.api;
  api.struct_size = PJRT_Api_STRUCT_SIZE;
  api.extension_start = FakeProfilerExtension();
  api.pjrt_api_version.struct_size = PJRT_Api_Version_STRUCT_SIZE;
  api.pjrt_api_version.major_version = PJRT_API_MAJOR;
  api.pjrt_api_version.minor_version = PJRT_API_MINOR;
  api.PJRT_Error_Destroy = ErrorDestroy;
  api.PJRT_Error_Message = ErrorMessage;
  api.PJRT_Error_GetCode = ErrorGetCode;
  api.PJRT_Plugin_Initialize = Initialize;
  api.PJRT_TopologyDescription_Create = TopologyCreate;
  api.PJRT_TopologyDescription_Destroy = TopologyDestroy;
  api.PJRT_TopologyDescription_PlatformVersion = TopologyVersion;
  api.PJRT_Compile = Compile;
  api.PJRT_Executable_OptimizedProgram = OptimizedProgram;
  api.PJRT_Executable_Destroy = ExecutableDestroy;
  api.PJRT_Client_Create = ClientCreate;
  api.PJRT_Client_Destroy = ClientDestroy;
  api.PJRT_Client_PlatformName = PlatformName;
  api.PJRT_Client_PlatformVersion = PlatformVersion;
  api.PJRT_Client_AddressableDevices = AddressableDevices;
  api.PJRT_Device_GetDescription = GetDescription;
  api.PJRT_DeviceDescription_Kind = DeviceKind;
  api.PJRT_Client_Compile = ClientCompile;
  api.PJRT_LoadedExecutable_GetExecutable = GetExecutable;
  api.PJRT_LoadedExecutable_Destroy = LoadedDestroy;
  api.PJRT_Executable_NumOutputs = NumOutputs;
  api.PJRT_Client_BufferFromHostBuffer = BufferFromHost;
  api.PJRT_Buffer_ReadyEvent = BufferReady;
  api.PJRT_Buffer_Destroy = BufferDestroy;
  api.PJRT_Buffer_ElementType = BufferType;
  api.PJRT_Buffer_Dimensions = BufferDimensions;
  api.PJRT_Buffer_ToHostBuffer = ToHost;
  api.PJRT_LoadedExecutable_Execute = Execute;
  const char* version = std::getenv("FAKE_PJRT_API");
  const std::string_view wanted = version == nullptr ? "" : version;
  if (wanted == "old") {
    api.struct_size = offsetof(PJRT_Api, PJRT_TopologyDescription_Create);
    api.pjrt_api_version.minor_version = 1;
  } else if (wanted == "ancient") {
    api.struct_size = offsetof(PJRT_Api, PJRT_Client_Create);
    api.pjrt_api_version.minor_version = 1;
  } else if (wanted == "new") {
    api.struct_size = sizeof(table);
    api.pjrt_api_version.minor_version = PJRT_API_MINOR + 200;
  } else if (wanted == "major") {
    api.pjrt_api_version.major_version = PJRT_API_MAJOR + 1;
  }
  return &api;
}
