#include "search/config_distance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

namespace autotune {
namespace {

constexpr double kUnrelated = 1e6;

// log2 of a bound (of 1 for less); looked up for most, as this is the inner loop of nearest
// neighbours.
double Log2(int64_t bound) {
  static constexpr int64_t kTable = 1024;
  static const std::array<double, kTable>& table = *[] {
    auto* values = new std::array<double, kTable>{};
    for (int64_t i = 1; i < kTable; ++i) (*values)[i] = std::log2(static_cast<double>(i));
    return values;
  }();
  if (bound < kTable) return table[std::max<int64_t>(bound, 0)];
  return std::log2(static_cast<double>(bound));
}

double WindowDistance(const WindowBounds& a, const WindowBounds& b) {
  if (a.size() != b.size()) return kUnrelated;
  double distance = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) distance += std::abs(Log2(a[i]) - Log2(b[i]));
  }
  return distance;
}

double FusionDistance(const FusionDecision& a, const FusionDecision& b) {
  std::vector<int64_t> differences;
  std::set_symmetric_difference(a.cuts.begin(), a.cuts.end(), b.cuts.begin(), b.cuts.end(),
                                std::back_inserter(differences));
  return static_cast<double>(differences.size());
}

double LayoutDistance(const LayoutConfig& a, const LayoutConfig& b) {
  if (a.nodes.size() != b.nodes.size()) return kUnrelated;
  double distance = 0;
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    const size_t tensors = std::max(a.nodes[i].size(), b.nodes[i].size());
    for (size_t j = 0; j < tensors; ++j) {
      const bool both = j < a.nodes[i].size() && j < b.nodes[i].size();
      distance += both && a.nodes[i][j] == b.nodes[i][j] ? 0 : 1;
    }
  }
  return distance;
}

// Replaces about half of the elements of `mix` with those of `other`. REQUIRES: equal sizes.
template <typename Sequence>
void MixInto(Sequence& mix, const Sequence& other, Rng& rng) {
  for (size_t i = 0; i < mix.size(); ++i) {
    if (Chance(rng, 0.5)) mix[i] = other[i];
  }
}

Config MixTiles(const TileBounds& a, const TileBounds& b, Rng& rng) {
  TileBounds mix;
  mix.kernel = a.kernel;
  mix.output = a.output;
  if (a.kernel.size() == b.kernel.size()) MixInto(mix.kernel, b.kernel, rng);
  if (a.output.size() == b.output.size()) MixInto(mix.output, b.output, rng);
  return Config(std::move(mix));
}

Config MixFusions(const FusionDecision& a, const FusionDecision& b, Rng& rng) {
  std::vector<int64_t> either;
  std::set_union(a.cuts.begin(), a.cuts.end(), b.cuts.begin(), b.cuts.end(),
                 std::back_inserter(either));
  FusionDecision mix;
  for (int64_t edge : either) {
    const FusionDecision& parent = Chance(rng, 0.5) ? a : b;
    if (std::binary_search(parent.cuts.begin(), parent.cuts.end(), edge)) mix.cuts.push_back(edge);
  }
  return Config(std::move(mix));
}

}  // namespace

double ConfigDistance(const Config& a, const Config& b) {
  if (a.tile() && b.tile()) {
    return WindowDistance(a.tile()->kernel, b.tile()->kernel) +
           WindowDistance(a.tile()->output, b.tile()->output);
  }
  if (a.fusion() && b.fusion()) return FusionDistance(*a.fusion(), *b.fusion());
  if (a.layout() && b.layout()) return LayoutDistance(*a.layout(), *b.layout());
  if (a.opaque() && b.opaque()) {
    return std::abs(static_cast<double>(a.opaque()->index - b.opaque()->index));
  }
  return kUnrelated;
}

Config MixConfigs(const Config& a, const Config& b, Rng& rng) {
  if (a.tile() && b.tile()) return MixTiles(*a.tile(), *b.tile(), rng);
  if (a.fusion() && b.fusion()) return MixFusions(*a.fusion(), *b.fusion(), rng);
  if (a.layout() && b.layout() && a.layout()->nodes.size() == b.layout()->nodes.size()) {
    LayoutConfig mix = *a.layout();
    MixInto(mix.nodes, b.layout()->nodes, rng);
    return Config(std::move(mix));
  }
  return a;
}

}  // namespace autotune
