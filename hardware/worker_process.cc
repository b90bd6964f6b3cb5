#include "hardware/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "hardware/worker_frames.h"

extern char** environ;

namespace autotune {
namespace {

// How often a waiting parent looks at the memory of its child.
constexpr absl::Duration kWatchInterval = absl::Milliseconds(50);

// The parent's environment with `changes`, as "NAME=VALUE".
std::vector<std::string> Environment(
    const std::vector<std::pair<std::string, std::string>>& changes) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::pair<std::string, std::string> variable =
        absl::StrSplit(*entry, absl::MaxSplits('=', 1));
    variables[variable.first] = variable.second;
  }
  for (const auto& [name, value] : changes) variables[name] = value;
  std::vector<std::string> result;
  result.reserve(variables.size());
  for (const auto& [name, value] : variables) result.push_back(absl::StrCat(name, "=", value));
  return result;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Starts `program` as the leader of a process group, with `socket` as descriptor 3, `log` as its
// output and nothing else open. Returns the error number.
int Spawn(const WorkerOptions& options, int socket, int log, pid_t* pid) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, log, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, log, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&files, socket, kWorkerSocket);
  posix_spawn_file_actions_addclosefrom_np(&files, kWorkerSocket + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t no_signals;
  sigemptyset(&no_signals);
  posix_spawnattr_setsigmask(&attributes, &no_signals);

  std::vector<std::string> arguments = {options.program};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  std::vector<std::string> environment = Environment(options.environment);
  const int error = posix_spawn(pid, options.program.c_str(), &files, &attributes,
                                Pointers(arguments).data(), Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

// Resident bytes of the process; 0 if it cannot be told.
int64_t ResidentBytes(pid_t pid) {
  std::ifstream statm(absl::StrCat("/proc/", pid, "/statm"));
  int64_t total_pages = 0;
  int64_t resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return statm ? resident_pages * sysconf(_SC_PAGESIZE) : 0;
}

// True once the child has ended, which leaves it to be reaped. The socket does not tell: a process
// that the child started may still hold it.
bool HasEnded(pid_t pid) {
  siginfo_t info = {};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid != 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(const WorkerOptions& options) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    return absl::InternalError(absl::StrCat("socketpair: ", std::strerror(errno)));
  }
  // Descriptors at or below 3 would get in the way of the child's own.
  const int child_socket = fcntl(sockets[1], F_DUPFD_CLOEXEC, kWorkerSocket + 1);
  close(sockets[1]);
  const int raw_log = memfd_create("autotune-worker-log", MFD_CLOEXEC);
  const int log = fcntl(raw_log, F_DUPFD_CLOEXEC, kWorkerSocket + 1);
  close(raw_log);
  if (log >= 0) fcntl(log, F_SETFL, O_APPEND);
  pid_t pid = -1;
  const int error = Spawn(options, child_socket, log, &pid);
  close(child_socket);
  if (error != 0) {
    close(sockets[0]);
    close(log);
    return absl::NotFoundError(
        absl::StrCat("cannot start the worker ", options.program, ": ", std::strerror(error)));
  }
  return std::unique_ptr<WorkerProcess>(
      new WorkerProcess(pid, sockets[0], log, options.memory_limit_bytes));
}

WorkerProcess::WorkerProcess(pid_t pid, int socket, int log, int64_t memory_limit_bytes)
    : pid_(pid), socket_(socket), log_(log), memory_limit_bytes_(memory_limit_bytes) {}

WorkerProcess::~WorkerProcess() {
  if (alive()) Reap();
  close(socket_);
  close(log_);
}

std::variant<std::string, Failure> WorkerProcess::Call(absl::string_view request,
                                                       absl::Duration timeout) {
  if (!alive()) return Failure{FailureKind::kCrash, "the worker process is gone"};
  const absl::Time deadline = absl::Now() + timeout;
  if (ftruncate(log_, 0) != 0) return Died("preparing");
  absl::StatusOr<FrameWriter> writer = FrameWriter::Create(request);
  if (!writer.ok())
    return Failure{FailureKind::kCompileError, std::string(writer.status().message())};
  FrameReader reader;
  for (bool sent = false;;) {
    if (!sent) {
      const absl::StatusOr<bool> written = writer->Write(socket_);
      if (!written.ok()) return Died("taking a request");
      sent = *written;
    }
    const bool ended = HasEnded(pid_);  // asked first: what it wrote before is still read
    const absl::StatusOr<bool> complete = reader.Read(socket_);
    if (!complete.ok()) return Died("working on a request");
    if (*complete) return reader.TakeMessage();
    if (ended) return Died("working on a request");
    if (memory_limit_bytes_ > 0 && ResidentBytes(pid_) > memory_limit_bytes_) {
      return KillFor(
          FailureKind::kOutOfMemory,
          absl::StrFormat("the worker process used more than %d MiB", memory_limit_bytes_ >> 20));
    }
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) {
      return KillFor(
          FailureKind::kTimeout,
          absl::StrCat("not done after ", absl::FormatDuration(timeout), " (--timeout-seconds)"));
    }
    const short events = static_cast<short>(sent ? POLLIN : POLLIN | POLLOUT);
    pollfd waiting = {.fd = socket_, .events = events, .revents = 0};
    const absl::Duration wait = std::min(left, kWatchInterval) + absl::Milliseconds(1);
    poll(&waiting, 1, static_cast<int>(absl::ToInt64Milliseconds(wait)));
  }
}

Failure WorkerProcess::KillFor(FailureKind kind, std::string message) {
  Reap();
  return Failure{kind, std::move(message)};
}

Failure WorkerProcess::Died(absl::string_view while_doing) {
  // The socket closes a little before the process can be waited for.
  for (int i = 0; i < 100 && !HasEnded(pid_); ++i) usleep(10'000);
  const int status = Reap();
  std::string how = absl::StrCat("status ", status);
  if (WIFSIGNALED(status)) {
    const char* name = sigabbrev_np(WTERMSIG(status));
    how = absl::StrCat("signal SIG", name == nullptr ? "?" : name);
  } else if (WIFEXITED(status)) {
    how = absl::StrCat("exit code ", WEXITSTATUS(status));
  }
  const std::string log = LogTail();
  return Failure{FailureKind::kCrash, absl::StrCat("the worker process died with ", how, " while ",
                                                   while_doing, log.empty() ? "" : ": ", log)};
}

int WorkerProcess::Reap() {
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

// The lines that say most: what a failed check prints comes before the stack trace.
std::string WorkerProcess::LogTail() const {
  std::string text(64 << 10, '\0');
  const ssize_t size = pread(log_, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  std::vector<absl::string_view> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    if (absl::StrContains(line, "Check failed") || absl::StrContains(line, "RET_CHECK") ||
        absl::StartsWith(line, "F0") || absl::StartsWith(line, "terminate called")) {
      return std::string(line.substr(0, 500));
    }
    if (lines.size() < 3) lines.push_back(line.substr(0, 200));
  }
  return absl::StrJoin(lines, " | ");
}

absl::StatusOr<std::string> FindWorkerProgram() {
  namespace fs = std::filesystem;
  if (const char* path = std::getenv("AUTOTUNE_WORKER"); path != nullptr) {
    if (access(path, X_OK) == 0) return std::string(path);
    return absl::NotFoundError(
        absl::StrCat("AUTOTUNE_WORKER names ", path, ", which cannot be run"));
  }
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"", "../bin", "../libexec/autotune", "../../bin"}) {
    const fs::path candidate = (here / place / "autotune-worker").lexically_normal();
    if (access(candidate.c_str(), X_OK) == 0) return candidate.string();
  }
  return absl::NotFoundError(
      absl::StrCat("no autotune-worker beside ", here.string(),
                   " or in ../libexec/autotune; AUTOTUNE_WORKER may name it"));
}

}  // namespace autotune
