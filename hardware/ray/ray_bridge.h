#ifndef AUTOTUNE_HARDWARE_RAY_RAY_BRIDGE_H_
#define AUTOTUNE_HARDWARE_RAY_RAY_BRIDGE_H_

#include <stddef.h>
#include <stdint.h>

// The border to Ray's C++ API, which is built with the old string ABI: bytes in, bytes out. The
// library behind it, libautotune_ray.so, is loaded with RTLD_LOCAL by hardware/fleet_ray.cc, and by
// Ray itself in the cluster's workers. One thread at a time.
//
// Functions that fail return a text, which autotune_ray_free frees; null is success.
#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  // Joins the cluster as a driver. `library` is the path of this library on every host.
  char* (*connect)(const char* address, const char* library);
  // Leaves it; its workers end.
  void (*disconnect)(void);
  // Asks for an actor that takes one unit of `resource`.
  char* (*start_worker)(const char* resource, int* worker);
  void (*stop_worker)(int worker);
  char* (*submit)(int worker, const char* bytes, size_t size, int64_t* ticket);
  // Waits up to `milliseconds` for answers; writes up to `capacity` tickets and returns how many.
  int (*wait)(int milliseconds, int64_t* tickets, int capacity);
  // The answer to a ticket that `wait` gave; `bytes` is to be freed.
  char* (*take)(int64_t ticket, char** bytes, size_t* size);
  void (*free)(char* text);
  // Path of the command `ray` of the Ray that this library was built for.
  const char* ray_command;
} AutotuneRayApi;

// The one symbol of the library that is looked up.
const AutotuneRayApi* autotune_ray_api(void);

#ifdef __cplusplus
}
#endif

#endif  // AUTOTUNE_HARDWARE_RAY_RAY_BRIDGE_H_
