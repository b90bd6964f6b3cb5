#ifndef AUTOTUNE_TESTS_HARDWARE_WRITER_PROCESSES_H_
#define AUTOTUNE_TESTS_HARDWARE_WRITER_PROCESSES_H_

#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "absl/functional/function_ref.h"
#include "gtest/gtest.h"

namespace autotune {

// Calls `write` with 0 to count - 1, each in a process of its own, all at once, and waits for them.
// Each ends with what its call returns, which must be 0.
inline void WriteFromProcesses(int count, absl::FunctionRef<int(int writer)> write) {
  std::vector<pid_t> children;
  for (int writer = 0; writer < count; ++writer) {
    const pid_t child = fork();
    if (child == 0) _exit(write(writer));
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int exit_status = -1;
    waitpid(child, &exit_status, 0);
    EXPECT_EQ(exit_status, 0);
  }
}

}  // namespace autotune

#endif  // AUTOTUNE_TESTS_HARDWARE_WRITER_PROCESSES_H_
