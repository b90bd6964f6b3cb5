#include "costmodel/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace autotune {

void ParallelFor(int64_t count, int jobs, const std::function<void(int64_t)>& work) {
  std::atomic<int64_t> next = 0;
  const auto run = [&] {
    for (int64_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> threads;
  for (int64_t i = 1; i < std::min<int64_t>(jobs, count); ++i) threads.emplace_back(run);
  run();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace autotune
