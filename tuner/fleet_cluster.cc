#include "tuner/fleet_cluster.h"

#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hardware/atomic_file.h"
#include "hardware/fleet_transport.h"
#include "hardware/fleet_worker.h"
#include "hlo/fingerprint.h"
#include "hlo/read_file.h"
#include "tuner/run_program.h"

namespace autotune {
namespace {

bool IsLoopback(const std::string& address) {
  return absl::StartsWith(address, "127.") || address == "localhost" || address == "::1";
}

// Readable by this user only, from the start.
absl::Status WriteSecret(const std::string& path, const std::string& content) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool written = file >= 0 && write(file, content.data(), content.size()) ==
                                        static_cast<ssize_t>(content.size());
  if (file >= 0) close(file);
  return written ? absl::OkStatus()
                 : absl::PermissionDeniedError(absl::StrCat(path, ": ", strerror(errno)));
}

std::string NewToken() {
  std::random_device device;
  std::string token;
  for (int i = 0; i < 8; ++i) absl::StrAppend(&token, absl::Hex(device(), absl::kZeroPad8));
  return token;
}

// A program beside this one or where the installation puts it.
absl::StatusOr<std::string> FindBeside(const std::string& name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path folder = self.parent_path();
  for (const std::filesystem::path& place :
       {folder / name, folder.parent_path() / "libexec" / "autotune" / name}) {
    if (std::filesystem::exists(place, error)) return place.string();
  }
  return absl::NotFoundError(absl::StrCat(name, " is not beside ", self.string()));
}

// The error in what Ray prints, which is long.
std::string LastLines(const std::string& output) {
  std::vector<std::string> lines = absl::StrSplit(output, '\n', absl::SkipEmpty());
  constexpr size_t kShown = 6;
  std::string text;
  for (size_t i = lines.size() > kShown ? lines.size() - kShown : 0; i < lines.size(); ++i) {
    absl::StrAppend(&text, "\n  ", lines[i]);
  }
  return text;
}

// Whether the path is a folder of this user, and no link to one.
bool IsOwnFolder(const std::string& path) {
  struct stat info = {};
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == getuid();
}

// An empty folder for what this fleet's Ray writes, whose path is short enough for the names of
// sockets. Ray lets everybody write in it, so it is inside of one that only this user may enter.
// REQUIRES: the fleet is down.
absl::StatusOr<std::string> RayFolder() {
  const std::string folder =
      absl::StrCat("/tmp/autotune-fleet-", getuid(), "-",
                   absl::Hex(Fingerprinter().AddText(FleetFolder()).Get() >> 32, absl::kZeroPad8));
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::PermissionDeniedError(absl::StrCat(folder, ": ", strerror(errno)));
  }
  if (!IsOwnFolder(folder) || chmod(folder.c_str(), 0700) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(folder, " is not a folder of this user: remove it"));
  }
  const std::string inner = folder + "/r";
  std::error_code error;
  std::filesystem::remove_all(inner, error);  // of a fleet before
  if (error || mkdir(inner.c_str(), 0700) != 0) {
    return absl::PermissionDeniedError(absl::StrCat("cannot make the folder ", inner));
  }
  return inner;
}

// Whether a server may listen there: Ray waits for minutes for an address that is not of this
// machine, and longer for a port that another program has.
absl::Status CheckAddress(const std::string& address, int64_t port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string place = absl::StrCat(address, ":", port);
  if (const int error = getaddrinfo(address.c_str(), absl::StrCat(port).c_str(), &hints, &found)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--address ", address, ": ", gai_strerror(error)));
  }
  const int server = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int reuse = 1;  // a connection that has ended does not count
  setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
  const bool free = bind(server, found->ai_addr, found->ai_addrlen) == 0;
  const int error = errno;
  if (server >= 0) close(server);
  freeaddrinfo(found);
  if (free) return absl::OkStatus();
  if (error == EADDRNOTAVAIL) {
    return absl::InvalidArgumentError(
        absl::StrCat("--address ", address, " is no address of this machine"));
  }
  return absl::InvalidArgumentError(absl::StrCat("the head cannot listen on ", place, ": ",
                                                 strerror(error), "; --port takes another one"));
}

// It becomes part of a JSON text.
absl::Status CheckResource(const std::string& resource) {
  const bool plain = !resource.empty() && std::all_of(resource.begin(), resource.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
  });
  return plain ? absl::OkStatus()
               : absl::InvalidArgumentError(absl::StrCat("--resource takes letters, digits, _ and "
                                                         "-; got \"",
                                                         resource, "\""));
}

// Everything that is wrong with the workers' configuration shows here and not in a worker's log.
absl::Status CheckWorkerConfig(const std::string& path) {
  const absl::StatusOr<std::string> content = ReadWholeFile(path);
  if (!content.ok()) return absl::InvalidArgumentError(content.status().message());
  return FleetWorkerBackend(*content).status();
}

absl::Status StartRay(const FleetUpOptions& options, const FleetState& state,
                      const std::string& ray, const std::string& worker) {
  std::error_code error;
  std::vector<std::string> variables = {
      "RAY_AUTH_MODE=token", absl::StrCat("RAY_AUTH_TOKEN_PATH=", state.token_path),
      absl::StrCat("AUTOTUNE_FLEET_WORKER=", worker),
      absl::StrCat("AUTOTUNE_FLEET_CONFIG=",
                   std::filesystem::absolute(options.worker_config, error).string())};
  // Ray replaces a loopback address by one that others reach, unless it is told not to form a
  // cluster of several machines.
  if (IsLoopback(options.address)) variables.push_back("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0");
  const absl::StatusOr<ProgramEnd> started = RunProgram(
      {ray, "start", "--head", absl::StrCat("--node-ip-address=", options.address),
       absl::StrCat("--port=", options.port), absl::StrCat("--num-cpus=", options.workers),
       absl::StrCat("--resources={\"", options.resource, "\": ", options.workers, "}"),
       absl::StrCat("--temp-dir=", state.ray_folder), "--include-dashboard=false",
       "--disable-usage-stats"},
      FleetFolder() + "/ray-start.log", variables);
  if (!started.ok()) return started.status();
  if (started->exit_code == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("Ray does not start:", LastLines(started->output)));
}

}  // namespace

std::vector<int> FleetProcesses(const FleetState& state) {
  std::vector<int> found;
  if (state.ray_folder.empty()) return found;
  const std::string mark = absl::StrCat(state.ray_folder, "/session_");
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    int pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid) || pid == getpid()) continue;
    struct stat info = {};
    if (stat(entry.path().c_str(), &info) != 0 || info.st_uid != getuid()) continue;
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    std::ostringstream command;
    command << file.rdbuf();
    if (absl::StrContains(command.str(), mark)) found.push_back(pid);
  }
  std::sort(found.begin(), found.end());
  return found;
}

absl::StatusOr<FleetState> StartFleet(const FleetUpOptions& options) {
  if (const absl::StatusOr<FleetState> known = FleetState::Load(); known.ok()) {
    if (!FleetProcesses(*known).empty()) {
      return absl::AlreadyExistsError(absl::StrCat("the fleet is up at ", known->address));
    }
  }
  if (FleetFolder().empty()) return absl::NotFoundError("there is no home: set HOME");
  if (absl::Status status = CheckWorkerConfig(options.worker_config); !status.ok()) return status;
  if (absl::Status status = CheckResource(options.resource); !status.ok()) return status;
  const absl::Status address = CheckAddress(options.address, options.port);
  if (!address.ok()) return address;
  const absl::StatusOr<std::string> ray = FindRayCommand();
  if (!ray.ok()) return ray.status();
  const absl::StatusOr<std::string> worker = FindBeside("autotune-fleet-worker");
  if (!worker.ok()) return worker.status();
  const absl::StatusOr<std::string> ray_folder = RayFolder();
  if (!ray_folder.ok()) return ray_folder.status();
  std::error_code error;
  std::filesystem::create_directories(FleetFolder(), error);
  FleetState state = {absl::StrCat(options.address, ":", options.port), FleetFolder() + "/token",
                      options.resource, *ray_folder, options.workers};
  if (absl::Status status = WriteSecret(state.token_path, NewToken()); !status.ok()) return status;
  // Before Ray starts: what it has started when this is interrupted can be ended.
  if (absl::Status status = state.Save(); !status.ok()) return status;
  if (absl::Status status = StartRay(options, state, *ray, *worker); !status.ok()) {
    (void)StopFleet();
    return status;
  }
  return state;
}

absl::Status StopFleet() {
  const absl::StatusOr<FleetState> state = FleetState::Load();
  if (!state.ok()) return state.status();
  for (const int signal : {SIGTERM, SIGKILL}) {
    for (int i = 0; i < 50; ++i) {
      const std::vector<int> processes = FleetProcesses(*state);
      if (processes.empty()) break;
      if (i == 0) {
        for (const int pid : processes) kill(pid, signal);
      }
      absl::SleepFor(absl::Milliseconds(100));
    }
  }
  std::error_code ignored;
  std::filesystem::remove(state->token_path, ignored);
  FleetState::Remove();
  return FleetProcesses(*state).empty()
             ? absl::OkStatus()
             : absl::UnavailableError("some processes of the fleet do not end");
}

}  // namespace autotune
