#ifndef AUTOTUNE_TUNER_BACKEND_PROBE_H_
#define AUTOTUNE_TUNER_BACKEND_PROBE_H_

#include <string>
#include <vector>

namespace autotune {

// What is known of one backend on this machine. A plain value.
struct BackendState {
  std::string name;
  bool available = false;
  bool broken = false;   // it is there, but does not work
  std::string found;     // what it is, and where
  std::string versions;  // of compiler, runtime and API; known after a check
  std::string missing;   // what is not there and how to get it; empty if nothing is missing
  std::string measured;  // the outcome of the measurement of a check, or what went wrong

  // All of it as one sentence.
  std::string Says() const;
};

struct ProbeOptions {
  std::string target = "v5e";  // of the aot backend
  std::string plugin;          // of the pjrt backend; empty: a TPU, else a CPU plugin
  // Compile and measure a small kernel with each. Otherwise nothing is started.
  bool check = false;
};

// replay, aot, pjrt and fleet, in this order.
std::vector<BackendState> ProbeBackends(const ProbeOptions& options);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_BACKEND_PROBE_H_
