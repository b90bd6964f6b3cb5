#include "tuner/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace autotune {
namespace {

// The one piece of global state of the tuner: a signal handler cannot be given an argument.
std::atomic<int> interrupts{0};
static_assert(std::atomic<int>::is_always_lock_free);

void OnInterrupt(int) {
  if (interrupts.fetch_add(1) > 0) _exit(130);
}

}  // namespace

void InstallInterruptHandler() {
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool InterruptRequested() { return interrupts.load(std::memory_order_relaxed) > 0; }

}  // namespace autotune
