#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "hardware/device_spec.h"
#include "nlohmann/json.hpp"
#include "tuner/html_charts.h"
#include "tuner/html_page.h"

namespace autotune {
namespace {

using nlohmann::json;

// A point for each kernel whose time is known: FLOPs per byte and FLOPs per second.
json KernelPoints(const TuningReport& report, std::optional<ConfigResult> KernelReport::*result) {
  json points = json::array();
  for (const KernelReport& kernel : report.kernels) {
    const std::optional<ConfigResult>& chosen = kernel.*result;
    if (!kernel.cost || !(kernel.cost->flops > 0) || !(kernel.cost->bytes > 0)) continue;
    if (!chosen || !chosen->measurement.ok()) continue;
    points.push_back({Rounded(kernel.cost->flops / kernel.cost->bytes),
                      Rounded(kernel.cost->flops / chosen->measurement.MedianSeconds()),
                      kernel.name});
  }
  return points;
}

// The roofs of memory and of arithmetic at `peak` between two intensities.
json Roofs(const DeviceSpec& device, double peak, double low, double high) {
  const double ridge = peak / device.hbm_bytes_per_second;
  json points = json::array();
  if (low < ridge) points.push_back({Rounded(low), Rounded(low * device.hbm_bytes_per_second)});
  const double bend = std::max(low, ridge);
  points.push_back({Rounded(bend), Rounded(peak)});
  if (high > bend) points.push_back({Rounded(high), Rounded(peak)});
  return points;
}

// True if a kernel runs faster than the peak for bfloat16 allows: it has products of integers.
bool LiesAbove(const json& points, double peak) {
  return std::any_of(points.begin(), points.end(),
                     [peak](const json& point) { return point[1].get<double>() > peak; });
}

}  // namespace

std::optional<json> RooflineChart(const TuningReport& report) {
  const absl::StatusOr<DeviceSpec> device = FindDeviceSpec(report.device);
  if (!device.ok()) return std::nullopt;
  const json before = KernelPoints(report, &KernelReport::compiler_default);
  const json after = KernelPoints(report, &KernelReport::best);
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const json* points : {&before, &after}) {
    for (const json& point : *points) {
      low = std::min(low, point[0].get<double>());
      high = std::max(high, point[0].get<double>());
    }
  }
  if (!(high > 0)) return std::nullopt;
  const double ridge = device->bf16_flops_per_second / device->hbm_bytes_per_second;
  json spec = {
      {"kind", "xy"},
      {"x", ToJson(ChartAxis{.label = "FLOPs per byte", .format = "quantity", .log = true})},
      {"y", ToJson(ChartAxis{.label = "FLOP/s", .format = "quantity", .log = true})},
      {"series", json::array()}};
  const auto add_roof = [&](const std::string& name, double peak) {
    spec["series"].push_back({{"name", name},
                              {"color", "soft"},
                              {"strong", true},
                              {"points", Roofs(*device, peak, std::min(low / 2, ridge / 4),
                                               std::max(high * 2, ridge * 4))}});
  };
  add_roof("what " + device->name + " allows (per core)", device->bf16_flops_per_second);
  const double bf16 = device->bf16_flops_per_second;
  if (device->int8_ops_per_second > bf16 && (LiesAbove(before, bf16) || LiesAbove(after, bf16))) {
    add_roof("the same for products of int8", device->int8_ops_per_second);
  }
  auto add = [&](const char* name, json color, bool hollow, const json& points) {
    if (points.empty()) return;
    spec["series"].push_back({{"name", name},
                              {"mode", "points"},
                              {"color", std::move(color)},
                              {"hollow", hollow},
                              {"named", !hollow},
                              {"size", 6},
                              {"points", points}});
  };
  add("compiler's default", "soft", true, before);
  add("best found", 2, false, after);
  return spec;
}

}  // namespace autotune
