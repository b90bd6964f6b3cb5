// The driver's side of libautotune_ray.so: see ray_bridge.h. Compiled with Ray's old string ABI, so
// nothing of the project's other code may be used here.

#include "hardware/ray/ray_bridge.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hardware/ray/ray_worker.h"
#include "ray/api.h"

namespace {

using autotune_ray::FleetWorker;

struct Driver {
  std::map<int, ray::ActorHandle<FleetWorker>> workers;
  std::map<int64_t, ray::ObjectRef<std::string>> pending;
  std::map<int64_t, int> worker_of;
  int next_worker = 0;
  int64_t next_ticket = 1;
};

Driver& TheDriver() {
  static Driver* driver = new Driver;  // never destroyed: Ray's threads may still use it at exit
  return *driver;
}

char* Copy(const std::string& text) {
  char* copy = static_cast<char*>(malloc(text.size() + 1));
  memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

// Runs `body`; what it throws comes back as a text.
template <typename Body>
char* Guard(Body body) {
  try {
    body();
    return nullptr;
  } catch (const std::exception& error) {
    return Copy(error.what());
  } catch (...) {
    return Copy("an unknown failure inside Ray");
  }
}

char* Connect(const char* address, const char* library) {
  return Guard([&] {
    ray::RayConfig config;
    config.address = address;
    config.code_search_path = {library};
    ray::Init(config);
  });
}

void Disconnect() {
  Driver& driver = TheDriver();
  driver.pending.clear();
  driver.workers.clear();
  free(Guard([] { ray::Shutdown(); }));
}

char* StartWorker(const char* resource, int* worker) {
  return Guard([&] {
    Driver& driver = TheDriver();
    *worker = driver.next_worker++;
    driver.workers[*worker] = ray::Actor(FleetWorker::Create)
                                  .SetResource(resource, 1.0)
                                  .SetMaxConcurrency(autotune_ray::kRequestsAtOnce)
                                  .Remote();
  });
}

void StopWorker(int worker) {
  Driver& driver = TheDriver();
  const auto found = driver.workers.find(worker);
  if (found == driver.workers.end()) return;
  free(Guard([&] { found->second.Kill(); }));
  driver.workers.erase(found);
  for (auto entry = driver.worker_of.begin(); entry != driver.worker_of.end();) {
    if (entry->second != worker) {
      ++entry;
      continue;
    }
    driver.pending.erase(entry->first);
    entry = driver.worker_of.erase(entry);
  }
}

char* Submit(int worker, const char* bytes, size_t size, int64_t* ticket) {
  return Guard([&] {
    Driver& driver = TheDriver();
    const auto found = driver.workers.find(worker);
    if (found == driver.workers.end()) throw std::out_of_range("no such worker");
    *ticket = driver.next_ticket++;
    driver.pending.emplace(
        *ticket, found->second.Task(&FleetWorker::Handle).Remote(std::string(bytes, size)));
    driver.worker_of[*ticket] = worker;
  });
}

int Wait(int milliseconds, int64_t* tickets, int capacity) {
  Driver& driver = TheDriver();
  int count = 0;
  free(Guard([&] {
    std::vector<ray::ObjectRef<std::string>> references;
    std::map<std::string, int64_t> by_id;
    for (const auto& entry : driver.pending) {
      references.push_back(entry.second);
      by_id[entry.second.ID()] = entry.first;
    }
    if (references.empty()) return;
    // One answer is waited for; those that are there by then come with it.
    auto result = ray::Wait(references, 1, milliseconds);
    if (!result.ready.empty() && references.size() > 1) {
      result = ray::Wait(references, static_cast<int>(references.size()), 0);
    }
    for (const auto& ready : result.ready) {
      if (count < capacity) tickets[count++] = by_id[ready.ID()];
    }
  }));
  return count;
}

char* Take(int64_t ticket, char** bytes, size_t* size) {
  return Guard([&] {
    Driver& driver = TheDriver();
    const auto found = driver.pending.find(ticket);
    if (found == driver.pending.end()) throw std::out_of_range("no such request");
    const ray::ObjectRef<std::string> reference = found->second;
    driver.pending.erase(found);
    driver.worker_of.erase(ticket);
    const std::shared_ptr<std::string> reply = ray::Get(reference, 10000);
    *bytes = Copy(*reply);
    *size = reply->size();
  });
}

void Free(char* text) { free(text); }

const AutotuneRayApi kApi = {Connect, Disconnect, StartWorker, StopWorker,          Submit,
                             Wait,    Take,       Free,        AUTOTUNE_RAY_COMMAND};

}  // namespace

extern "C" __attribute__((visibility("default"))) const AutotuneRayApi* autotune_ray_api(void) {
  return &kApi;
}
