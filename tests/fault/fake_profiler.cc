#include "tests/fault/fake_profiler.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "hardware/pjrt_profiler_api.h"

struct PLUGIN_Profiler {
  std::string profile;
};
struct PLUGIN_Profiler_Error {
  std::string message;
};

namespace {

int executions = -1;  // while a profiler runs; else -1

std::string Wanted() {
  const char* wanted = std::getenv("FAKE_PJRT_PROFILER");
  return wanted == nullptr ? "" : wanted;
}

// Protocol buffers by hand, so that the test does not read what the same code wrote.
std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value > 127; value >>= 7) bytes.push_back(static_cast<char>(value | 128));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}
std::string Number(int field, uint64_t value) {
  return Varint(static_cast<uint64_t>(field) << 3) + Varint(value);
}
std::string Bytes(int field, const std::string& value) {
  return Varint(static_cast<uint64_t>(field) << 3 | 2) + Varint(value.size()) + value;
}

// An XSpace: a host's plane, and a TPU's with one line of operations.
std::string Profile(const std::string& operation, int runs) {
  std::string line = Bytes(2, "XLA Ops");
  for (int i = runs - 1; i >= 0; --i) {  // not in the order of time
    const auto at = static_cast<uint64_t>(i);
    line += Bytes(4, Number(1, 7) + Number(2, at * 1000000000) + Number(3, (5 + at) * 1000000));
  }
  const std::string name = "%" + operation + " = f32[32,1024]{1,0:T(8,128)} fusion(%p0)";
  const std::string metadata = Number(1, 7) + Bytes(2, Number(1, 7) + Bytes(2, name));
  const std::string host = Bytes(2, "/host:CPU");
  const std::string tpu = Bytes(2, "/device:TPU:0") + Bytes(3, line) + Bytes(4, metadata);
  return Bytes(1, host) + (operation == "empty" ? "" : Bytes(1, tpu));
}

void ErrorDestroy(PLUGIN_Profiler_Error_Destroy_Args* args) { delete args->error; }

void ErrorMessage(PLUGIN_Profiler_Error_Message_Args* args) {
  args->message = args->error->message.data();
  args->message_size = args->error->message.size();
}

PLUGIN_Profiler_Error* Create(PLUGIN_Profiler_Create_Args* args) {
  args->profiler = new PLUGIN_Profiler;
  return nullptr;
}

PLUGIN_Profiler_Error* Destroy(PLUGIN_Profiler_Args* args) {
  delete args->profiler;
  executions = -1;
  return nullptr;
}

PLUGIN_Profiler_Error* Start(PLUGIN_Profiler_Args*) {
  if (Wanted() == "error") return new PLUGIN_Profiler_Error{"no permission to trace"};
  executions = 0;
  return nullptr;
}

PLUGIN_Profiler_Error* Stop(PLUGIN_Profiler_Args* args) {
  args->profiler->profile =
      Wanted() == "garbage" ? "\xff\xff" : Profile(Wanted(), executions) + '\0';
  executions = -1;
  return nullptr;
}

PLUGIN_Profiler_Error* CollectData(PLUGIN_Profiler_CollectData_Args* args) {
  args->buffer = reinterpret_cast<uint8_t*>(args->profiler->profile.data());
  args->buffer_size_in_bytes = args->profiler->profile.size();
  return nullptr;
}

}  // namespace

PJRT_Extension_Base* FakeProfilerExtension() {
  if (Wanted().empty()) return nullptr;
  static PLUGIN_Profiler_Api api = {sizeof(api), nullptr, ErrorDestroy, ErrorMessage, nullptr,
                                    Create,      Destroy, Start,        Stop,         CollectData};
  static PJRT_Profiler_Extension profiler = {
      {sizeof(profiler), PJRT_Extension_Type_Profiler, nullptr}, &api, 0};
  // Another extension stands before it.
  static PJRT_Extension_Base other = {sizeof(other), PJRT_Extension_Type_Example, &profiler.base};
  return &other;
}

void ProfileExecution() {
  if (executions >= 0) ++executions;
}
