// Reads HLO texts and answers with what autotune makes of them, for differential_hlo.py.
//
// Standard input: records of a 32-bit little-endian size and a text. Standard output: for each text
// two such records: "+" and the serialised HloModuleProto, or "-" and the error; then "+" and the
// printed text, or "-".

#include <cstdint>
#include <cstdio>
#include <string>

#include "hlo/parser.h"
#include "hlo/printer.h"
#include "hlo/read_module.h"

namespace {

bool ReadRecord(std::string* record) {
  uint32_t size;
  if (std::fread(&size, sizeof(size), 1, stdin) != 1) return false;
  record->resize(size);
  return size == 0 || std::fread(record->data(), size, 1, stdin) == 1;
}

void WriteRecord(char kind, const std::string& content) {
  const uint32_t size = static_cast<uint32_t>(content.size()) + 1;
  std::fwrite(&size, sizeof(size), 1, stdout);
  std::fputc(kind, stdout);
  std::fwrite(content.data(), 1, content.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

int main() {
  std::string text;
  while (ReadRecord(&text)) {
    const auto module = autotune::ParseHloText(text, {.file_name = "case"});
    if (!module.ok()) {
      WriteRecord('-', std::string(module.status().message()));
      WriteRecord('-', "");
      continue;
    }
    WriteRecord('+', *autotune::WriteModule(**module, autotune::HloFormat::kModuleProto));
    WriteRecord('+', autotune::PrintHlo(**module));
  }
  return 0;
}
