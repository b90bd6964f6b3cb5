#include <algorithm>
#include <numeric>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hlo/fingerprint.h"
#include "nlohmann/json.hpp"
#include "tuner/best_config.h"
#include "tuner/inspection.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

using nlohmann::json;

std::string Cell(const std::optional<double>& seconds) {
  return seconds ? FormatSeconds(*seconds) : "-";
}

std::string Share(double part, double whole) {
  return whole > 0 ? absl::StrFormat("%.1f %%", 100 * part / whole) : "-";
}

// Positions of the kernels, dearest first.
std::vector<size_t> Dearest(const Inspection& inspection, int64_t limit) {
  std::vector<size_t> order(inspection.kernels.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return inspection.kernels[a].program_seconds > inspection.kernels[b].program_seconds;
  });
  if (limit > 0 && order.size() > static_cast<size_t>(limit)) {
    order.resize(static_cast<size_t>(limit));
  }
  return order;
}

std::string KernelTable(const Inspection& inspection, const std::vector<size_t>& shown) {
  using Align = TextTable::Align;
  const bool recorded =
      std::any_of(inspection.kernels.begin(), inspection.kernels.end(),
                  [](const InspectedKernel& kernel) { return kernel.recorded_seconds; });
  TextTable table;
  table.Column("kernel", Align::kLeft).Column("kind", Align::kLeft).Column("count");
  table.Column("FLOPs").Column("bytes").Column("roofline").Column("bound", Align::kLeft);
  table.Column("compiler (est.)").Column("analytical (est.)");
  if (recorded) table.Column("recorded");
  table.Column("share");
  for (size_t i : shown) {
    const InspectedKernel& kernel = inspection.kernels[i];
    std::vector<std::string> row = {kernel.name,
                                    kernel.kind,
                                    FormatCount(kernel.count),
                                    FormatQuantity(kernel.cost.flops),
                                    FormatQuantity(kernel.cost.bytes),
                                    FormatSeconds(kernel.cost.roofline_seconds),
                                    kernel.memory_bound ? "memory" : "compute",
                                    Cell(kernel.compiler_seconds),
                                    Cell(kernel.analytical_seconds)};
    if (recorded) row.push_back(Cell(kernel.recorded_seconds));
    row.push_back(Share(kernel.program_seconds, inspection.program_seconds));
    table.Row(std::move(row));
  }
  return table.ToString();
}

// Time by kind of kernel.
std::string KindTable(const Inspection& inspection) {
  struct Sum {
    int64_t kernels = 0;
    double seconds = 0;
  };
  absl::btree_map<std::string, Sum> kinds;
  for (const InspectedKernel& kernel : inspection.kernels) {
    Sum& sum = kinds[kernel.kind];
    ++sum.kernels;
    sum.seconds += kernel.program_seconds;
  }
  std::vector<std::pair<std::string, Sum>> sorted(kinds.begin(), kinds.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.seconds > b.second.seconds;
  });
  TextTable table;
  table.Column("where the time goes", TextTable::Align::kLeft).Column("kernels");
  table.Column("time").Column("share");
  for (const auto& [kind, sum] : sorted) {
    table.Row({kind, FormatCount(sum.kernels), FormatSeconds(sum.seconds),
               Share(sum.seconds, inspection.program_seconds)});
  }
  table.Row({"all", FormatCount(static_cast<int64_t>(inspection.kernels.size())),
             FormatSeconds(inspection.program_seconds), "100.0 %"});
  return table.ToString();
}

}  // namespace

std::string InspectionText(const Inspection& inspection, int64_t limit) {
  std::string text = absl::StrCat("program: ", inspection.name, " (", inspection.path,
                                  "): ", FormatCount(inspection.instructions), " instructions in ",
                                  FormatCount(inspection.computations), " computations, ",
                                  FormatQuantity(inspection.flops), " FLOPs, ",
                                  FormatQuantity(inspection.bytes), " bytes accessed, ",
                                  FormatQuantity(inspection.transcendentals), " transcendentals\n");
  if (!inspection.stage.empty()) absl::StrAppend(&text, "stage:   ", inspection.stage, "\n");
  absl::StrAppend(&text, "device:  ", inspection.device, " (", inspection.device_reason, ")\n\n");
  if (inspection.kernels.empty()) {
    absl::StrAppend(
        &text,
        inspection.before_optimisation
            ? "This is a program before optimisation: it has no kernels until it is compiled.\n"
              "A compiling backend shows them:\n  autotune "
            : "No operation of this program is tiled for a TPU. Compiling its source shows "
              "kernels:\n  autotune ",
        inspection.path, " --backend aot --target ", inspection.device, " --budget 0\n");
    return text;
  }
  const std::vector<size_t> shown = Dearest(inspection, limit);
  absl::StrAppend(&text, KernelTable(inspection, shown));
  if (shown.size() < inspection.kernels.size()) {
    absl::StrAppend(&text, "the dearest ", shown.size(), " of ",
                    FormatCount(static_cast<int64_t>(inspection.kernels.size())),
                    " kernels; --limit 0 shows all\n");
  }
  absl::StrAppend(&text, "\n", KindTable(inspection));
  return text;
}

json InspectionJson(const Inspection& inspection) {
  json kernels = json::array();
  for (const InspectedKernel& kernel : inspection.kernels) {
    json value = {{"name", kernel.name},
                  {"kind", kernel.kind},
                  {"count", kernel.count},
                  {"fingerprint", FingerprintText(kernel.fingerprint)},
                  {"tile", kernel.tile},
                  {"flops", kernel.cost.flops},
                  {"transcendentals", kernel.cost.transcendentals},
                  {"bytes", kernel.cost.bytes},
                  {"roofline_seconds", kernel.cost.roofline_seconds},
                  {"bound", kernel.memory_bound ? "memory" : "compute"},
                  {"program_seconds", kernel.program_seconds}};
    if (kernel.compiler_seconds) value["compiler_estimate_seconds"] = *kernel.compiler_seconds;
    if (kernel.analytical_seconds) {
      value["analytical_estimate_seconds"] = *kernel.analytical_seconds;
    }
    if (kernel.recorded_seconds) value["recorded_seconds"] = *kernel.recorded_seconds;
    kernels.push_back(std::move(value));
  }
  return {{"schema", "autotune.inspect/1"},
          {"program", inspection.path},
          {"program_name", inspection.name},
          {"device", inspection.device},
          {"device_reason", inspection.device_reason},
          {"stage", inspection.stage},
          {"before_optimisation", inspection.before_optimisation},
          {"instructions", inspection.instructions},
          {"computations", inspection.computations},
          {"flops", inspection.flops},
          {"transcendentals", inspection.transcendentals},
          {"bytes", inspection.bytes},
          {"program_seconds", inspection.program_seconds},
          {"kernels", std::move(kernels)}};
}

}  // namespace autotune
