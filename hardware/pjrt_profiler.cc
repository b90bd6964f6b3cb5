#include "hardware/pjrt_profiler.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#ifdef AUTOTUNE_HAS_PJRT
#include "hardware/pjrt_api.h"
#include "hardware/pjrt_profiler_api.h"
#endif

namespace autotune {

#ifdef AUTOTUNE_HAS_PJRT

namespace {

// The profiler that the plugin's chain of extensions holds, or null.
const PLUGIN_Profiler_Api* FindProfiler(const PJRT_Api& api) {
  for (const PJRT_Extension_Base* extension = api.extension_start; extension != nullptr;
       extension = extension->next) {
    if (extension->type != PJRT_Extension_Type_Profiler) continue;
    if (extension->struct_size < offsetof(PJRT_Profiler_Extension, traceme_context_id)) continue;
    return reinterpret_cast<const PJRT_Profiler_Extension*>(extension)->profiler_api;
  }
  return nullptr;
}

bool IsComplete(const PLUGIN_Profiler_Api& api) {
  return api.struct_size >= sizeof(PLUGIN_Profiler_Api) && api.error_destroy != nullptr &&
         api.error_message != nullptr && api.create != nullptr && api.destroy != nullptr &&
         api.start != nullptr && api.stop != nullptr && api.collect_data != nullptr;
}

// Turns an error into a status and frees it. OK for null.
absl::Status TakeError(const PLUGIN_Profiler_Api& api, PLUGIN_Profiler_Error* error) {
  if (error == nullptr) return absl::OkStatus();
  PLUGIN_Profiler_Error_Message_Args message = {sizeof(message), nullptr, error, nullptr, 0};
  api.error_message(&message);
  absl::Status status = absl::UnavailableError(absl::StrCat(
      "the plugin's profiler: ", absl::string_view(message.message, message.message_size)));
  PLUGIN_Profiler_Error_Destroy_Args destroy = {sizeof(destroy), nullptr, error};
  api.error_destroy(&destroy);
  return status;
}

}  // namespace

struct PjrtProfiler::Impl {
  const PLUGIN_Profiler_Api* api;
};

PjrtProfiler::PjrtProfiler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PjrtProfiler::~PjrtProfiler() = default;

absl::StatusOr<std::unique_ptr<PjrtProfiler>> PjrtProfiler::Create(const PjrtPlugin& plugin) {
  const PLUGIN_Profiler_Api* api = FindProfiler(*static_cast<const PJRT_Api*>(plugin.api()));
  if (api == nullptr || !IsComplete(*api)) {
    return absl::NotFoundError("the plugin offers no profiler");
  }
  return std::unique_ptr<PjrtProfiler>(new PjrtProfiler(std::make_unique<Impl>(Impl{api})));
}

absl::StatusOr<std::string> PjrtProfiler::Watch(absl::FunctionRef<absl::Status()> run) const {
  const PLUGIN_Profiler_Api& api = *impl_->api;
  PLUGIN_Profiler_Create_Args create = {sizeof(create), "", 0, nullptr};
  absl::Status status = TakeError(api, api.create(&create));
  if (!status.ok()) return status;
  PLUGIN_Profiler_Args profiler = {sizeof(profiler), create.profiler};
  std::string bytes;
  status = TakeError(api, api.start(&profiler));
  if (status.ok()) {
    status = run();
    status.Update(TakeError(api, api.stop(&profiler)));
  }
  if (status.ok()) {
    PLUGIN_Profiler_CollectData_Args collect = {sizeof(collect), create.profiler, nullptr, 0};
    status = TakeError(api, api.collect_data(&collect));
    if (status.ok() && collect.buffer == nullptr && collect.buffer_size_in_bytes > 0) {
      // It wants to be given the room.
      bytes.resize(collect.buffer_size_in_bytes);
      collect.buffer = reinterpret_cast<uint8_t*>(bytes.data());
      status = TakeError(api, api.collect_data(&collect));
    } else if (status.ok() && collect.buffer != nullptr) {
      bytes.assign(reinterpret_cast<const char*>(collect.buffer), collect.buffer_size_in_bytes);
    }
  }
  status.Update(TakeError(api, api.destroy(&profiler)));
  if (!status.ok()) return status;
  return bytes;
}

#else  // AUTOTUNE_HAS_PJRT

struct PjrtProfiler::Impl {};
PjrtProfiler::PjrtProfiler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PjrtProfiler::~PjrtProfiler() = default;
absl::StatusOr<std::unique_ptr<PjrtProfiler>> PjrtProfiler::Create(const PjrtPlugin&) {
  return absl::NotFoundError("the plugin offers no profiler");
}
absl::StatusOr<std::string> PjrtProfiler::Watch(absl::FunctionRef<absl::Status()>) const {
  return absl::UnimplementedError("autotune was built without the C header of the PJRT API");
}

#endif  // AUTOTUNE_HAS_PJRT

}  // namespace autotune
