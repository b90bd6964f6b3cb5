#include "costmodel/features.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "costmodel/graph_features.h"
#include "hlo/cost_analysis.h"
#include "hlo/int_math.h"
#include "hlo/module.h"
#include "hlo/opcode.h"

namespace autotune {
namespace {

constexpr int kSchemaVersion = 3;
constexpr int kHeroKinds = 5;
constexpr int kRoles = 8;
constexpr int kBounds = 6;
// Inputs and outputs whose windows are described one by one.
constexpr int kInputs = 3;
constexpr int kOutputs = 2;
// Bounds whose divisibility is described, from the minor end.
constexpr int kDividedOutputBounds = 4;
constexpr int kDividedKernelBounds = 2;

double Log(double value) { return std::log2(1 + std::max(0.0, value)); }
double LogInt(int64_t value) { return Log(static_cast<double>(value)); }

// "input_0", ...: the operands whose windows are described one by one.
std::vector<std::string> DescribedNames() {
  std::vector<std::string> names;
  names.reserve(kInputs + kOutputs);
  for (int i = 0; i < kInputs + kOutputs; ++i) {
    names.push_back(i < kInputs ? absl::StrCat("input_", i) : absl::StrCat("output_", i - kInputs));
  }
  return names;
}

std::vector<std::string> KernelFeatureNames() {
  std::vector<std::string> names = {"log_flops",         "log_transcendentals", "log_bytes_read",
                                    "log_bytes_written", "log_nodes",           "log_outputs"};
  for (int i = 0; i < kHeroKinds; ++i) {
    names.push_back(absl::StrCat("hero_", HeroKindName(static_cast<HeroKind>(i))));
  }
  for (const char* device : {"device_log_flops_per_second", "device_log_hbm_bytes_per_second",
                             "device_log_vmem_bytes", "device_log_clock_hz"}) {
    names.emplace_back(device);
  }
  for (const std::string& operand : DescribedNames()) {
    names.push_back(absl::StrCat("log_bytes_of_", operand));
    names.push_back(absl::StrCat("is_in_hbm_", operand));
  }
  return names;
}

std::vector<std::string> ConfigFeatureNames() {
  std::vector<std::string> names;
  for (const char* operand : {"output", "kernel"}) {
    // From the minor end.
    for (int i = 0; i < kBounds; ++i) names.push_back(absl::StrCat("log_", operand, "_bound_", i));
    names.push_back(absl::StrCat("log_", operand, "_product"));
    names.push_back(absl::StrCat(operand, "_remainder"));
  }
  for (int i = 0; i < kRoles; ++i) names.push_back(absl::StrCat("log_trips_of_role_", i));
  for (int i = 0; i < kRoles; ++i) names.push_back(absl::StrCat("log_step_of_role_", i));
  for (const char* name :
       {"log_iterations", "log_bytes_read", "log_bytes_written", "log_bytes_per_iteration",
        "log_vmem_bytes", "vmem_share", "padding_waste"}) {
    names.emplace_back(name);
  }
  for (const std::string& operand : DescribedNames()) {
    names.push_back(absl::StrCat("log_window_bytes_of_", operand));
    names.push_back(absl::StrCat("log_transfers_of_", operand));
  }
  for (const char* name : {"analytical_log_seconds", "analytical_matrix_share",
                           "analytical_vector_share", "analytical_transfer_share",
                           "analytical_overhead_share", "analytical_log_busy_over_transfer"}) {
    names.emplace_back(name);
  }
  for (const char* name :
       {"log_reloaded_bytes", "log_first_bytes", "log_runs", "log_reduced_trips",
        "log_matrix_cycles_of_iteration", "log_vector_cycles_of_iteration",
        "log_transfer_cycles_of_iteration", "log_compute_cycles", "log_transfer_cycles"}) {
    names.emplace_back(name);
  }
  for (int i = 0; i < kDividedOutputBounds + kDividedKernelBounds; ++i) {
    const std::string bound = i < kDividedOutputBounds
                                  ? absl::StrCat("output_bound_", i)
                                  : absl::StrCat("kernel_bound_", i - kDividedOutputBounds);
    names.push_back(absl::StrCat("is_whole_", bound));
    names.push_back(absl::StrCat("remainder_of_", bound));
    names.push_back(absl::StrCat("log_power_of_two_in_", bound));
  }
  for (const std::string& operand : DescribedNames()) {
    names.push_back(absl::StrCat("log_window_share_of_", operand));
    names.push_back(absl::StrCat("log_loads_of_", operand));
  }
  for (const char* name :
       {"log_reloaded_share", "log_transfer_cycles_of_byte", "log_compute_cycles_of_flop",
        "log_compute_over_transfer_cycles", "log_first_share", "log_iterations_of_byte",
        "log_matrix_over_vector_cycles", "log_matrix_over_transfer_cycles",
        "log_vector_over_transfer_cycles"}) {
    names.emplace_back(name);
  }
  return names;
}

std::vector<float> KernelFeatures(const HloModule& module, const TileGeometry& geometry,
                                  absl::Span<const int> described, const KernelGraph& graph,
                                  const DeviceSpec& device) {
  const CostAnalysis costs(module);
  double read = 0, written = 0;
  int64_t outputs = 0;
  for (const TileOperand& operand : geometry.operands()) {
    (operand.is_output ? written : read) += static_cast<double>(operand.total_bytes);
    outputs += operand.is_output ? 1 : 0;
  }
  std::vector<float> features;
  for (double value : {Log(costs.total().flops), Log(costs.total().transcendentals), Log(read),
                       Log(written), LogInt(graph.nodes()), LogInt(outputs)}) {
    features.push_back(static_cast<float>(value));
  }
  for (int i = 0; i < kHeroKinds; ++i) {
    features.push_back(geometry.hero_kind() == static_cast<HeroKind>(i) ? 1.0f : 0.0f);
  }
  for (double value : {device.bf16_flops_per_second, device.hbm_bytes_per_second,
                       static_cast<double>(device.vmem_bytes), device.clock_hz}) {
    features.push_back(static_cast<float>(Log(value)));
  }
  for (const int i : described) {
    const TileOperand* operand = i < 0 ? nullptr : &geometry.operands()[static_cast<size_t>(i)];
    features.push_back(operand == nullptr ? 0.0f
                                          : static_cast<float>(LogInt(operand->total_bytes)));
    features.push_back(operand != nullptr && operand->InHbm() ? 1.0f : 0.0f);
  }
  return features;
}

// Positions of the largest inputs and outputs.
std::vector<int> DescribedOperands(const TileGeometry& geometry) {
  std::vector<int> described;
  for (const bool outputs : {false, true}) {
    std::vector<int> chosen;
    for (size_t i = 0; i < geometry.operands().size(); ++i) {
      if (geometry.operands()[i].is_output == outputs) chosen.push_back(static_cast<int>(i));
    }
    std::stable_sort(chosen.begin(), chosen.end(), [&](int a, int b) {
      return geometry.operands()[static_cast<size_t>(a)].total_bytes >
             geometry.operands()[static_cast<size_t>(b)].total_bytes;
    });
    chosen.resize(outputs ? kOutputs : kInputs, -1);
    described.insert(described.end(), chosen.begin(), chosen.end());
  }
  return described;
}

// Writes one value after another.
class FeatureWriter {
 public:
  explicit FeatureWriter(absl::Span<float> features) : features_(features) {}
  void Add(double value) { features_[next_++] = static_cast<float>(value); }

 private:
  absl::Span<float> features_;
  size_t next_ = 0;
};

// Bounds from the minor end, their product, and the share of the last window along each dimension
// that lies beyond the array, summed.
void AddBounds(const WindowBounds& bounds, absl::Span<const BoundDim> dims, FeatureWriter* out) {
  double product = 1, remainder = 0;
  for (int i = 0; i < kBounds; ++i) {
    const int position = static_cast<int>(bounds.size()) - 1 - i;
    if (position < 0 || position >= static_cast<int>(dims.size())) {
      out->Add(0);
      continue;
    }
    const auto bound = static_cast<double>(bounds[static_cast<size_t>(position)]);
    const auto tiles = static_cast<double>(dims[static_cast<size_t>(position)].tiles);
    out->Add(Log(bound));
    product *= bound;
    remainder += 1 - tiles / (std::ceil(tiles / bound) * bound);
  }
  out->Add(Log(product));
  out->Add(remainder);
}

void AddLoops(const TileGeometry& geometry, const TileEvaluation& evaluation, FeatureWriter* out) {
  double trips[kRoles] = {}, steps[kRoles] = {};
  for (size_t i = 0; i < geometry.loops().size(); ++i) {
    const auto role = static_cast<size_t>(geometry.loops()[i].role);
    trips[role] += std::log2(static_cast<double>(std::max<int64_t>(1, evaluation.trips[i])));
    steps[role] += std::log2(static_cast<double>(std::max<int64_t>(1, evaluation.steps[i])));
  }
  for (double value : trips) out->Add(value);
  for (double value : steps) out->Add(value);
}

void AddTotals(const TileEvaluation& tile, double vmem_bytes, FeatureWriter* out) {
  out->Add(LogInt(tile.iterations));
  out->Add(Log(tile.bytes_read));
  out->Add(Log(tile.bytes_written));
  out->Add(Log(tile.bytes_per_iteration));
  out->Add(LogInt(tile.vmem_bytes));
  out->Add(static_cast<double>(tile.vmem_bytes) / vmem_bytes);
  out->Add(tile.padding_waste);
}

void AddAnalytical(const AnalyticalEstimate& estimate, FeatureWriter* out) {
  const double busy = estimate.compute_seconds + estimate.overhead_seconds;
  out->Add(std::log2(estimate.seconds));
  out->Add(estimate.matrix_seconds / estimate.seconds);
  out->Add((estimate.compute_seconds - estimate.matrix_seconds) / estimate.seconds);
  out->Add(estimate.transfer_seconds / estimate.seconds);
  out->Add(estimate.overhead_seconds / estimate.seconds);
  out->Add(std::clamp(std::log2((busy + 1e-12) / (estimate.transfer_seconds + 1e-12)), -8.0, 8.0));
}

// Where the traffic and the cycles come from, in the units that a schedule counts in; logarithms.
struct TileParts {
  double reloaded_bytes, first_bytes, runs, reduced_trips;
  double matrix_of_iteration, vector_of_iteration, transfer_of_iteration;  // cycles
  double compute_cycles, transfer_cycles;
};

TileParts PartsOf(const TileGeometry& geometry, const TileEvaluation& tile,
                  const AnalyticalEstimate& estimate, double clock_hz) {
  const bool reloads = geometry.hero_kind() == HeroKind::kConvolution;
  const auto iterations = static_cast<double>(tile.iterations);
  double reloaded = 0, first = 0, reduced = 1;
  for (size_t i = 0; i < tile.window_bytes.size(); ++i) {
    const TileOperand& operand = geometry.operands()[i];
    if (!operand.InHbm()) continue;
    const auto bytes = static_cast<double>(tile.window_bytes[i]);
    if (!operand.is_output) first += bytes;
    reloaded += bytes * (reloads && !operand.is_output ? iterations
                                                       : static_cast<double>(tile.transfers[i]));
  }
  for (size_t i = 0; i < geometry.loops().size(); ++i) {
    if (geometry.loops()[i].reduced) reduced *= static_cast<double>(tile.trips[i]);
  }
  const double matrix = estimate.matrix_seconds * clock_hz;
  const double compute = estimate.compute_seconds * clock_hz;
  const double transfer = estimate.transfer_seconds * clock_hz;
  return {Log(reloaded),
          Log(first),
          Log(estimate.transfer_runs),
          Log(reduced - 1),
          Log(matrix / iterations),
          Log((compute - matrix) / iterations),
          Log(transfer / iterations),
          Log(compute),
          Log(transfer)};
}

void AddParts(const TileParts& parts, FeatureWriter* out) {
  for (const double value :
       {parts.reloaded_bytes, parts.first_bytes, parts.runs, parts.reduced_trips,
        parts.matrix_of_iteration, parts.vector_of_iteration, parts.transfer_of_iteration,
        parts.compute_cycles, parts.transfer_cycles}) {
    out->Add(value);
  }
}

// The tile against its kernel: shares of arrays, traffic and cycles against the least that the
// kernel needs. A network that sees kernels through a narrow embedding cannot subtract these
// logarithms itself, and they mean the same in kernels of any size.
void AddRatios(const TileGeometry& geometry, const TileEvaluation& tile, const TileParts& parts,
               absl::Span<const int> described, double log_flops, FeatureWriter* out) {
  for (const int i : described) {
    const auto at = static_cast<size_t>(i);
    const TileOperand* operand = i < 0 ? nullptr : &geometry.operands()[at];
    const double window = operand == nullptr ? 0 : LogInt(tile.window_bytes[at]);
    const double whole = operand == nullptr ? 0 : LogInt(operand->total_bytes);
    out->Add(operand != nullptr && operand->InHbm() ? window - whole : 0);
    out->Add(operand == nullptr ? 0 : window + LogInt(tile.transfers[at]) - whole);
  }
  double bytes = 0;
  for (const TileOperand& operand : geometry.operands()) {
    bytes += static_cast<double>(operand.total_bytes);
  }
  const double log_bytes = Log(bytes);
  for (const double value :
       {parts.reloaded_bytes - log_bytes, parts.transfer_cycles - log_bytes,
        parts.compute_cycles - log_flops, parts.compute_cycles - parts.transfer_cycles,
        parts.first_bytes - log_bytes, LogInt(tile.iterations) - log_bytes,
        parts.matrix_of_iteration - parts.vector_of_iteration,
        parts.matrix_of_iteration - parts.transfer_of_iteration,
        parts.vector_of_iteration - parts.transfer_of_iteration}) {
    out->Add(value);
  }
}

// How a bound divides its dimension and how often it can be halved: what unrolled loops need.
void AddDivisibility(const WindowBounds& bounds, absl::Span<const BoundDim> dims, int count,
                     FeatureWriter* out) {
  for (int i = 0; i < count; ++i) {
    const int position = static_cast<int>(bounds.size()) - 1 - i;
    if (position < 0 || position >= static_cast<int>(dims.size())) {
      for (int n = 0; n < 3; ++n) out->Add(0);
      continue;
    }
    const int64_t bound = std::max<int64_t>(1, bounds[static_cast<size_t>(position)]);
    const int64_t tiles = dims[static_cast<size_t>(position)].tiles;
    const int64_t covered = CeilDiv(tiles, bound) * bound;
    out->Add(bound >= tiles ? 1 : 0);
    out->Add(1 - static_cast<double>(tiles) / static_cast<double>(covered));
    out->Add(std::min(5, std::countr_zero(static_cast<uint64_t>(bound))));
  }
}

}  // namespace

const FeatureSchema& TileFeatureSchema() {
  static const FeatureSchema* const schema = new FeatureSchema{
      "autotune",           kSchemaVersion,       NodeFeatureNames(),
      KernelFeatureNames(), ConfigFeatureNames(), static_cast<int64_t>(HloOpcode::kUnknown) + 1};
  return *schema;
}

Featurizer::Featurizer(AnalyticalKernel analytical, KernelGraph graph, const DeviceSpec& device)
    : analytical_(std::move(analytical)),
      graph_(std::move(graph)),
      vmem_bytes_(static_cast<double>(device.kernel_vmem_bytes)),
      clock_hz_(device.clock_hz),
      described_operands_(DescribedOperands(analytical_.geometry())) {}

absl::StatusOr<Featurizer> Featurizer::Create(const Kernel& kernel, const DeviceSpec& device) {
  if (kernel.module == nullptr) return absl::InvalidArgumentError("The kernel has no module");
  absl::StatusOr<AnalyticalKernel> analytical = AnalyticalKernel::Create(*kernel.module, device);
  if (!analytical.ok()) return analytical.status();
  KernelGraph graph;
  BuildKernelGraph(*kernel.module, &graph);
  graph.kernel_features = KernelFeatures(*kernel.module, analytical->geometry(),
                                         DescribedOperands(analytical->geometry()), graph, device);
  return Featurizer(*std::move(analytical), std::move(graph), device);
}

AnalyticalEstimate Featurizer::ConfigFeatures(const TileBounds& bounds,
                                              const AnalyticalConstants& constants,
                                              absl::Span<float> features,
                                              AnalyticalScratch* scratch) const {
  const AnalyticalEstimate estimate = analytical_.Estimate(bounds, constants, scratch);
  const TileEvaluation& tile = scratch->tile;
  FeatureWriter out(features);
  AddBounds(bounds.output, geometry().output_dims(), &out);
  AddBounds(bounds.kernel, geometry().kernel_dims(), &out);
  AddLoops(geometry(), tile, &out);
  AddTotals(tile, vmem_bytes_, &out);
  for (const int operand : described_operands_) {
    out.Add(operand < 0 ? 0 : LogInt(tile.window_bytes[static_cast<size_t>(operand)]));
    out.Add(operand < 0 ? 0 : LogInt(tile.transfers[static_cast<size_t>(operand)]));
  }
  AddAnalytical(estimate, &out);
  const TileParts parts = PartsOf(geometry(), tile, estimate, clock_hz_);
  AddParts(parts, &out);
  AddDivisibility(bounds.output, geometry().output_dims(), kDividedOutputBounds, &out);
  AddDivisibility(bounds.kernel, geometry().kernel_dims(), kDividedKernelBounds, &out);
  // The kernel's first feature is log_flops.
  AddRatios(geometry(), tile, parts, described_operands_, graph_.kernel_features.front(), &out);
  return estimate;
}

}  // namespace autotune
