#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hardware/fleet_messages.h"
#include "hardware/fleet_transport.h"
#include "hardware/ray/ray_bridge.h"

namespace autotune {
namespace {

// Takes a text of the bridge.
std::string TakeText(const AutotuneRayApi& api, char* text) {
  const std::string copy(text);
  api.free(text);
  return WordsOfRay(copy);
}

absl::Status StatusOf(const AutotuneRayApi& api, char* text) {
  if (text == nullptr) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("Ray: ", TakeText(api, text)));
}

class RayTransport : public FleetTransport {
 public:
  RayTransport(const AutotuneRayApi* api, std::string resource)
      : api_(*api), resource_(std::move(resource)) {}
  ~RayTransport() override { api_.disconnect(); }

  absl::StatusOr<int> StartWorker() override {
    int worker = -1;
    absl::Status status = StatusOf(api_, api_.start_worker(resource_.c_str(), &worker));
    if (!status.ok()) return status;
    return worker;
  }

  void StopWorker(int worker) override { api_.stop_worker(worker); }

  absl::StatusOr<int64_t> Submit(int worker, const std::string& request) override {
    int64_t ticket = 0;
    absl::Status status =
        StatusOf(api_, api_.submit(worker, request.data(), request.size(), &ticket));
    if (!status.ok()) return status;
    return ticket;
  }

  std::vector<Event> Wait(absl::Duration timeout) override {
    constexpr int kMost = 64;
    int64_t tickets[kMost];
    const int64_t milliseconds = std::max<int64_t>(0, absl::ToInt64Milliseconds(timeout));
    const int count = api_.wait(static_cast<int>(milliseconds), tickets, kMost);
    std::vector<Event> events;
    for (int i = 0; i < count; ++i) {
      char* bytes = nullptr;
      size_t size = 0;
      absl::Status status = StatusOf(api_, api_.take(tickets[i], &bytes, &size));
      if (!status.ok()) {
        events.push_back({tickets[i], std::move(status)});
        continue;
      }
      events.push_back({tickets[i], std::string(bytes, size)});
      api_.free(bytes);
    }
    return events;
  }

 private:
  const AutotuneRayApi& api_;
  const std::string resource_;
};

// Sends standard error to nowhere while it lives: Ray tells of its start before it knows how much
// it is to tell. Errors come as texts.
class QuietStart {
 public:
  QuietStart() : saved_(dup(STDERR_FILENO)), nowhere_(open("/dev/null", O_WRONLY | O_CLOEXEC)) {
    if (saved_ >= 0 && nowhere_ >= 0) dup2(nowhere_, STDERR_FILENO);
  }
  ~QuietStart() {
    if (saved_ >= 0) dup2(saved_, STDERR_FILENO);
    for (const int descriptor : {saved_, nowhere_}) {
      if (descriptor >= 0) close(descriptor);
    }
  }
  QuietStart(const QuietStart&) = delete;
  QuietStart& operator=(const QuietStart&) = delete;

 private:
  int saved_;
  int nowhere_;
};

absl::StatusOr<const AutotuneRayApi*> LoadBridge(const std::string& path) {
  // Local: Ray's own protobuf and other libraries must not be taken for ours, and never unloaded.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    return absl::NotFoundError(absl::StrCat("the library for Ray cannot be loaded: ", dlerror()));
  }
  using Function = const AutotuneRayApi*();
  auto* function = reinterpret_cast<Function*>(dlsym(library, "autotune_ray_api"));
  if (function == nullptr) {
    return absl::NotFoundError(absl::StrCat(path, " is not autotune's library for Ray"));
  }
  return function();
}

}  // namespace

absl::StatusOr<std::string> FindRayBridge() {
  constexpr char kName[] = "libautotune_ray.so";
  std::vector<std::string> places;
  if (const char* named = std::getenv("AUTOTUNE_RAY_BRIDGE")) places.push_back(named);
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    const std::filesystem::path folder = self.parent_path();
    places.push_back(folder / kName);
    places.push_back(folder / "bin" / kName);
    places.push_back(folder.parent_path() / "bin" / kName);
    places.push_back(folder.parent_path() / "libexec" / "autotune" / kName);
  }
  for (const std::string& place : places) {
    if (std::filesystem::exists(place, error)) return place;
  }
  return absl::NotFoundError(
      absl::StrCat("the fleet needs Ray: ./autotune --with fleet installs it (looked for ",
                   absl::StrJoin(places, ", "), ")"));
}

absl::StatusOr<std::string> FindRayCommand() {
  const absl::StatusOr<std::string> bridge = FindRayBridge();
  if (!bridge.ok()) return bridge.status();
  const absl::StatusOr<const AutotuneRayApi*> api = LoadBridge(*bridge);
  if (!api.ok()) return api.status();
  std::error_code error;
  if (!std::filesystem::exists((*api)->ray_command, error)) {
    return absl::NotFoundError(
        absl::StrCat((*api)->ray_command, " is gone: ./autotune --with fleet installs it again"));
  }
  return std::string((*api)->ray_command);
}

absl::StatusOr<std::unique_ptr<FleetTransport>> ConnectRayCluster(
    const RayClusterOptions& options) {
  std::string path = options.bridge;
  if (path.empty()) {
    absl::StatusOr<std::string> found = FindRayBridge();
    if (!found.ok()) return found.status();
    path = *std::move(found);
  }
  if (!options.token_path.empty()) {
    setenv("RAY_AUTH_MODE", "token", 1);
    setenv("RAY_AUTH_TOKEN_PATH", options.token_path.c_str(), 1);
  }
  // Ray tells its whole story on standard error otherwise.
  setenv("RAY_BACKEND_LOG_LEVEL", "error", 0);
  absl::StatusOr<const AutotuneRayApi*> api = LoadBridge(path);
  if (!api.ok()) return api.status();
  absl::Status status;
  {
    const QuietStart quiet;
    status = StatusOf(**api, (*api)->connect(options.address.c_str(), path.c_str()));
  }
  if (!status.ok()) return status;
  return std::make_unique<RayTransport>(*api, options.resource);
}

}  // namespace autotune
