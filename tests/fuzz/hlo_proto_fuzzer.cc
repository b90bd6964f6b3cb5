// Feeds arbitrary bytes to the readers of binary and text protobufs, and prints what they accept.

#include <cstdint>
#include <string>

#include "hlo/printer.h"
#include "hlo/read_module.h"
#include "tests/fuzz/fuzz_module.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string content(reinterpret_cast<const char*>(data), size);
  for (const autotune::HloFormat format :
       {autotune::HloFormat::kAuto, autotune::HloFormat::kModuleProto}) {
    const auto read =
        autotune::ReadModule(content, "input", {.format = format, .keep_unknown = true});
    if (!read.ok()) continue;
    autotune::PrintHlo(*read->module);
    (void)autotune::WriteModule(*read->module, autotune::HloFormat::kHloProto);
    autotune::ExploreModule(*read->module);
  }
  return 0;
}
