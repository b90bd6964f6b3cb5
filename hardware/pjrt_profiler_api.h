#ifndef AUTOTUNE_HARDWARE_PJRT_PROFILER_API_H_
#define AUTOTUNE_HARDWARE_PJRT_PROFILER_API_H_

// The binary interface of the profiler extension, which the C header that the plugins ship does not
// declare: a table of functions behind PJRT_Extension_Type_Profiler. Only what is called is here.
// Names and order of members are those of XLA's plugin profiler.

#include <cstddef>
#include <cstdint>

#include "pjrt_c_api.h"

extern "C" {

struct PLUGIN_Profiler;
struct PLUGIN_Profiler_Error;

struct PLUGIN_Profiler_Error_Destroy_Args {
  size_t struct_size;
  void* priv;
  PLUGIN_Profiler_Error* error;
};
struct PLUGIN_Profiler_Error_Message_Args {
  size_t struct_size;
  void* priv;
  const PLUGIN_Profiler_Error* error;
  const char* message;  // out; lives as long as the error
  size_t message_size;  // out
};
struct PLUGIN_Profiler_Create_Args {
  size_t struct_size;
  const char* options;  // a serialised ProfileOptions
  size_t options_size;
  PLUGIN_Profiler* profiler;  // out
};
struct PLUGIN_Profiler_Args {  // of destroy, start and stop
  size_t struct_size;
  PLUGIN_Profiler* profiler;
};
struct PLUGIN_Profiler_CollectData_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
  uint8_t* buffer;              // null: the plugin's own, out; or where to write to
  size_t buffer_size_in_bytes;  // out
};

struct PLUGIN_Profiler_Api {
  size_t struct_size;
  void* priv;
  void (*error_destroy)(PLUGIN_Profiler_Error_Destroy_Args*);
  void (*error_message)(PLUGIN_Profiler_Error_Message_Args*);
  void* error_get_code;
  PLUGIN_Profiler_Error* (*create)(PLUGIN_Profiler_Create_Args*);
  PLUGIN_Profiler_Error* (*destroy)(PLUGIN_Profiler_Args*);
  PLUGIN_Profiler_Error* (*start)(PLUGIN_Profiler_Args*);
  PLUGIN_Profiler_Error* (*stop)(PLUGIN_Profiler_Args*);
  PLUGIN_Profiler_Error* (*collect_data)(PLUGIN_Profiler_CollectData_Args*);
};

struct PJRT_Profiler_Extension {
  PJRT_Extension_Base base;
  PLUGIN_Profiler_Api* profiler_api;  // may be null
  int64_t traceme_context_id;
};

}  // extern "C"

#endif  // AUTOTUNE_HARDWARE_PJRT_PROFILER_API_H_
