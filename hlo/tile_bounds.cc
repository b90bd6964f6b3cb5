#include "hlo/tile_bounds.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace autotune {

std::string TileBounds::Key() const {
  std::string output_part = absl::StrCat("o=", absl::StrJoin(output, ","));
  if (kernel.empty()) return output_part;
  return absl::StrCat("k=", absl::StrJoin(kernel, ","), ";", output_part);
}

}  // namespace autotune
