#ifndef AUTOTUNE_TESTS_FAULT_FAKE_PROFILER_H_
#define AUTOTUNE_TESTS_FAULT_FAKE_PROFILER_H_

#include "pjrt_c_api.h"

// The fake plugin's profiler extension, as the environment variable FAKE_PJRT_PROFILER says: null
// where it is not set; "NAME", a profiler for which each execution runs the operation NAME for
// 5 us, 6 us, 7 us, ...; "error", one that cannot start; "empty", one that saw no device;
// "garbage", one whose profile cannot be read.
PJRT_Extension_Base* FakeProfilerExtension();

// Tells the profiler that a program ran.
void ProfileExecution();

#endif  // AUTOTUNE_TESTS_FAULT_FAKE_PROFILER_H_
