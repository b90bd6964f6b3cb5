// A PJRT plugin that misbehaves on request. It compiles nothing: the "optimised program" is the
// program itself. What it does is named in the program's bytes ("fault-crash" and so on); the
// version of the API that it reports, in the environment variable FAKE_PJRT_API: "old" (its table
// ends before topologies), "new" (a later minor version, a longer table), "major" (another major
// version).

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "pjrt_c_api.h"

struct PJRT_Error {
  PJRT_Error_Code code;
  std::string message;
};
struct PJRT_TopologyDescription {};
struct PJRT_Executable {
  std::string program;
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

PJRT_Error* Initialize(PJRT_Plugin_Initialize_Args*) { return nullptr; }

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
  const std::string path = InitArgument("--xla_jf_dump_to") + "/1-kernel-01-final_bundles.txt";
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

// Takes memory until something stops it.
[[noreturn]] void Leak() {
  for (;;) {
    constexpr size_t kBytes = 16 << 20;
    void* block = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block != MAP_FAILED) std::memset(block, 1, kBytes);
    usleep(2000);
  }
}

PJRT_Error* Compile(PJRT_Compile_Args* args) {
  std::string program(args->program->code, args->program->code_size);
  const auto asked = [&](const char* fault) { return program.find(fault) != std::string::npos; };
  if (asked("fault-crash")) {
    std::fputs("Check failed: the window fits\n", stderr);
    std::raise(SIGILL);
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
  args->executable = new PJRT_Executable{std::move(program)};
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
  const char* version = std::getenv("FAKE_PJRT_API");
  const std::string_view wanted = version == nullptr ? "" : version;
  if (wanted == "old") {
    api.struct_size = offsetof(PJRT_Api, PJRT_TopologyDescription_Create);
    api.pjrt_api_version.minor_version = 1;
  } else if (wanted == "new") {
    api.struct_size = sizeof(table);
    api.pjrt_api_version.minor_version = PJRT_API_MINOR + 200;
  } else if (wanted == "major") {
    api.pjrt_api_version.major_version = PJRT_API_MAJOR + 1;
  }
  return &api;
}
