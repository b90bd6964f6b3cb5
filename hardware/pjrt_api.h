#ifndef AUTOTUNE_HARDWARE_PJRT_API_H_
#define AUTOTUNE_HARDWARE_PJRT_API_H_

// What hardware/pjrt_*.cc share to call the PJRT C API. Included only where the header is there
// (AUTOTUNE_HAS_PJRT).

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "hardware/pjrt_plugin.h"
#include "pjrt_c_api.h"

namespace autotune {

// An argument struct of the C API, zeroed but for its size: Args<PJRT_Compile_Args>(SIZE).
#define AUTOTUNE_PJRT_ARGS(Type, name) \
  Type name = {};                      \
  name.struct_size = Type##_STRUCT_SIZE

// A program in the form of the C API, which takes its code by a pointer that is not const. Owns a
// copy of the code.
class ApiProgram {
 public:
  explicit ApiProgram(const PjrtProgram& program) : code_(program.code), format_(program.format) {
    program_.struct_size = PJRT_Program_STRUCT_SIZE;
    program_.code = code_.data();
    program_.code_size = code_.size();
    program_.format = format_.data();
    program_.format_size = format_.size();
  }
  ApiProgram(const ApiProgram&) = delete;
  ApiProgram& operator=(const ApiProgram&) = delete;
  PJRT_Program* get() { return &program_; }

 private:
  std::string code_;
  std::string format_;
  PJRT_Program program_ = {};
};

// Turns an error of the plugin into a status and frees it. OK for null. Error codes are those of
// absl::StatusCode.
absl::Status TakePjrtError(const PJRT_Api& api, PJRT_Error* error);

// A compiled program as its compiler left it: a serialised HloModuleProto. Unimplemented where the
// plugin does not hand it out in a form of HLO.
absl::StatusOr<std::string> ReadOptimizedModule(const PJRT_Api& api, PJRT_Executable* executable);

// The plugin's own form of a compiled program.
absl::StatusOr<std::string> SerializeExecutable(const PJRT_Api& api, PJRT_Executable* executable);

// True if the plugin's table, which may be older than this program's header, has the function.
template <typename Function>
bool PjrtHas(const PJRT_Api& api, Function* const PJRT_Api::*member) {
  const auto* base = reinterpret_cast<const char*>(&api);
  const auto* field = reinterpret_cast<const char*>(&(api.*member));
  const size_t end = static_cast<size_t>(field - base) + sizeof(Function*);
  return end <= api.struct_size && api.*member != nullptr;
}

// Calls `api.FUNCTION(&args)` and returns its status; Unimplemented if the plugin lacks it.
#define AUTOTUNE_PJRT_CALL(api, FUNCTION, args)                    \
  (::autotune::PjrtHas((api), &PJRT_Api::FUNCTION)                 \
       ? ::autotune::TakePjrtError((api), (api).FUNCTION(&(args))) \
       : absl::UnimplementedError("the plugin's version of the PJRT API lacks " #FUNCTION))

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_PJRT_API_H_
