#ifndef AUTOTUNE_COSTMODEL_PARALLEL_H_
#define AUTOTUNE_COSTMODEL_PARALLEL_H_

#include <cstdint>
#include <functional>

namespace autotune {

// Calls `work(i)` for 0 <= i < count on at most `jobs` threads, the caller's among them, and waits
// for all. What `work` computes must not depend on the order.
void ParallelFor(int64_t count, int jobs, const std::function<void(int64_t)>& work);

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_PARALLEL_H_
