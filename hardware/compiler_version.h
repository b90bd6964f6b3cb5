#ifndef AUTOTUNE_HARDWARE_COMPILER_VERSION_H_
#define AUTOTUNE_HARDWARE_COMPILER_VERSION_H_

#include <string>

namespace autotune {

// The compiler that made a measurement, for its record: every line of what the plugin reports of
// itself, and the release of the Python package that its file lies in where there is one. Parts are
// set apart by "; ": "TFRT TPU v5 lite; Built on ... cl/1014260217; libtpu 0.0.52".
std::string CompilerVersion(const std::string& reported, const std::string& plugin);

// Whether both may name one compiler: what the one says, the other says too, and perhaps more.
// Records of autotune 0.1 have the first part only, and a file outside of a package has no release.
bool MayBeSameCompiler(const std::string& a, const std::string& b);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_COMPILER_VERSION_H_
