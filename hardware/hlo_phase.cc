#include "hardware/hlo_phase.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "hardware/worker_process.h"
#include "hlo/parser.h"
#include "hlo/read_file.h"
#include "proto/worker.pb.h"

namespace autotune {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(20);
// The compiler's name for the program as a whole: "TIME-TLP-hlo.txt".
constexpr absl::string_view kDumpSuffix = "-TLP-hlo.txt";

// The text of the dump once it is whole.
std::optional<std::string> WholeDump(const std::string& directory) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string path = entry.path().string();
    if (!absl::EndsWith(path, kDumpSuffix)) continue;
    absl::StatusOr<std::string> text = ReadWholeFile(path);
    if (text.ok() && IsWholeHloDump(*text)) return *std::move(text);
  }
  return std::nullopt;
}

// A handle to a process that no other process can take over, as its number could be.
class ProcessHandle {
 public:
  explicit ProcessHandle(pid_t pid) : handle_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}
  ~ProcessHandle() {
    if (handle_ >= 0) close(handle_);
  }
  ProcessHandle(const ProcessHandle&) = delete;
  ProcessHandle& operator=(const ProcessHandle&) = delete;

  bool ok() const { return handle_ >= 0; }
  void Kill() const { syscall(SYS_pidfd_send_signal, handle_, SIGKILL, nullptr, 0); }

 private:
  int handle_;
};

// Without a folder to take schedules from: the worker would empty it.
std::string CompileRequest(const PjrtProgram& program, const AotCompilerOptions& options) {
  proto::WorkerRequest request;
  proto::AotCompileRequest& compile = *request.mutable_aot_compile();
  compile.set_plugin(options.plugin);
  compile.set_topology(options.topology);
  compile.set_program(program.code);
  compile.set_format(program.format);
  compile.set_compile_options(SingleDeviceCompileOptions());
  return request.SerializeAsString();
}

absl::Status WhyNoDump(const std::variant<std::string, Failure>& answer) {
  if (const Failure* failure = std::get_if<Failure>(&answer)) {
    return absl::UnavailableError(failure->message);
  }
  proto::WorkerReply reply;
  if (reply.ParseFromString(std::get<std::string>(answer)) && reply.status_code() != 0) {
    return absl::UnavailableError(reply.status_message());
  }
  return absl::UnavailableError("the compiler did not write the program that it emits");
}

}  // namespace

bool IsWholeHloDump(const std::string& text) {
  return (absl::EndsWith(text, "\n}\n") || absl::EndsWith(text, "\n}\n\n")) &&
         absl::StrContains(text, "\nENTRY ");
}

absl::StatusOr<std::unique_ptr<HloPhase>> HloPhase::Create(const AotCompilerOptions& options) {
  absl::StatusOr<std::unique_ptr<ScratchFolder>> scratch = ScratchFolder::Create("hlo");
  if (!scratch.ok()) return scratch.status();
  return std::unique_ptr<HloPhase>(new HloPhase(options, *std::move(scratch)));
}

HloPhase::HloPhase(const AotCompilerOptions& options, std::unique_ptr<ScratchFolder> scratch)
    : options_(options), scratch_(std::move(scratch)) {}

absl::StatusOr<std::unique_ptr<HloModule>> HloPhase::Run(const PjrtProgram& program) {
  scratch_->Empty();
  absl::StatusOr<std::unique_ptr<WorkerProcess>> worker = StartAotWorker(options_, *scratch_);
  if (!worker.ok()) return worker.status();
  const ProcessHandle process((*worker)->pid());
  if (!process.ok()) return absl::UnavailableError("the kernel has no handles of processes");

  const std::string request = CompileRequest(program, options_);
  std::variant<std::string, Failure> answer;
  std::atomic<bool> done = false;
  std::thread caller([&] {
    answer = (*worker)->Call(request, options_.timeout);
    done = true;
  });
  std::optional<std::string> dump;
  while (!done && !(dump = WholeDump(scratch_->work())).has_value()) absl::SleepFor(kPoll);
  process.Kill();
  caller.join();
  // A small program may be done before anybody looked.
  if (!dump.has_value()) dump = WholeDump(scratch_->work());
  worker->reset();
  scratch_->Empty();
  if (!dump.has_value()) return WhyNoDump(answer);
  return ParseHloText(*dump);
}

}  // namespace autotune
