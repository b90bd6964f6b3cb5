// Feeds arbitrary text to the HLO parser. What it accepts must print to a text that it accepts too
// and that prints the same, and must survive the way through its protobuf.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "hlo/parser.h"
#include "hlo/printer.h"
#include "tests/fuzz/fuzz_module.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  autotune::ParseOptions options;
  // The first byte chooses the options, so that both ways are explored.
  if (size > 0) options.keep_unknown = data[0] == '!';
  const size_t skip = options.keep_unknown ? 1 : 0;
  std::string text(reinterpret_cast<const char*>(data) + skip, size - skip);
  const auto module = autotune::ParseHloText(std::move(text), options);
  if (!module.ok()) return 0;
  const std::string printed = autotune::PrintHlo(**module);
  const auto again = autotune::ParseHloText(printed, options);
  if (!again.ok() || autotune::PrintHlo(**again) != printed) std::abort();
  const auto from_proto =
      autotune::HloModule::FromProto((*module)->ToProto(), options.keep_unknown);
  if (!from_proto.ok()) std::abort();
  autotune::PrintHlo(**module, autotune::PrintOptions::Canonical());
  autotune::ExploreModule(**module);
  return 0;
}
