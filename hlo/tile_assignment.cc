#include "hlo/tile_assignment.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace autotune {
namespace {

int64_t Product(absl::Span<const int64_t> values) {
  return std::accumulate(values.begin(), values.end(), int64_t{1}, std::multiplies<>());
}

// Reorders a row-major array of the given dimensions.
std::vector<int64_t> Permuted(const std::vector<int64_t>& values,
                              absl::Span<const int64_t> dimensions,
                              absl::Span<const int64_t> order) {
  const size_t rank = dimensions.size();
  std::vector<int64_t> strides(rank, 1);
  for (size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * dimensions[i];
  std::vector<int64_t> index(rank, 0);
  std::vector<int64_t> result;
  result.reserve(values.size());
  int64_t from = 0;
  while (result.size() < values.size()) {
    result.push_back(values[static_cast<size_t>(from)]);
    for (size_t i = rank; i-- > 0;) {
      const size_t d = static_cast<size_t>(order[i]);
      from += strides[d];
      if (++index[i] < dimensions[d]) break;
      from -= strides[d] * index[i];
      index[i] = 0;
    }
  }
  return result;
}

bool DropOnes(std::vector<int64_t>* reshape, std::vector<int64_t>* permutation) {
  std::vector<int64_t> renumbered(reshape->size(), -1);
  std::vector<int64_t> kept;
  for (size_t i = 0; i < reshape->size(); ++i) {
    if ((*reshape)[i] == 1) continue;
    renumbered[i] = static_cast<int64_t>(kept.size());
    kept.push_back((*reshape)[i]);
  }
  std::vector<int64_t> order;
  for (const int64_t d : *permutation) {
    const int64_t renamed = renumbered[static_cast<size_t>(d)];
    if (renamed >= 0) order.push_back(renamed);
  }
  const bool changed = kept.size() != reshape->size();
  *reshape = std::move(kept);
  *permutation = std::move(order);
  return changed;
}

// Dimensions that follow each other before and after the transpose become one; the others of such a
// run become 1.
bool MergeRuns(std::vector<int64_t>* reshape, const std::vector<int64_t>& permutation) {
  bool changed = false;
  size_t base = 0;
  for (size_t i = 1; i < permutation.size(); ++i) {
    const int64_t run = permutation[base];
    const int64_t d = permutation[i];
    if (run + static_cast<int64_t>(i - base) != d) {
      base = i;
      continue;
    }
    // Ranges of replica groups are taken as they come: what overflows wraps around, as in XLA.
    int64_t& merged = (*reshape)[static_cast<size_t>(run)];
    merged = static_cast<int64_t>(static_cast<uint64_t>(merged) *
                                  static_cast<uint64_t>((*reshape)[static_cast<size_t>(d)]));
    (*reshape)[static_cast<size_t>(d)] = 1;
    changed = true;
  }
  return changed;
}

}  // namespace

int64_t TileAssignment::size() const { return Product(dimensions); }

void TileAssignment::Canonicalize() {
  if (reshape.size() <= 1) return;
  do {
    DropOnes(&reshape, &permutation);
  } while (MergeRuns(&reshape, permutation));
  if (reshape.empty()) {
    reshape = {1};
    permutation = {0};
  }
}

bool TileAssignment::SortGroups(int64_t group) {
  if (reshape[static_cast<size_t>(permutation.back())] == group) return true;
  // The innermost dimensions that make up a group; the last of them may be in it in part.
  std::vector<int64_t> sizes = reshape;
  std::vector<int64_t> order = permutation;
  std::ptrdiff_t grouped = 0;
  for (size_t i = order.size(); i-- > 0 && group > 1;) {
    const int64_t dimension = order[i];
    const int64_t size = sizes[static_cast<size_t>(dimension)];
    ++grouped;
    if (group % size == 0) {
      group /= size;
      continue;
    }
    if (size % group != 0) return false;
    sizes[static_cast<size_t>(dimension)] = size / group;
    sizes.insert(sizes.begin() + dimension + 1, group);
    for (int64_t& d : order) d += d > dimension ? 1 : 0;
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(i) + 1, dimension + 1);
    group = 1;
  }
  std::sort(order.end() - grouped, order.end());
  reshape = std::move(sizes);
  permutation = std::move(order);
  Canonicalize();
  return true;
}

void TileAssignment::Materialize() {
  if (!IsRange()) return;
  std::vector<int64_t> range(static_cast<size_t>(Product(reshape)));
  std::iota(range.begin(), range.end(), int64_t{0});
  devices = Permuted(range, reshape, permutation);
  reshape.clear();
  permutation.clear();
}

void TileAssignment::Transpose(absl::Span<const int64_t> order) {
  const std::vector<int64_t> old = dimensions;
  std::vector<int64_t> moved;
  // The order of the dimensions that are not 1.
  std::vector<int64_t> proper;
  for (size_t i = 0; i < order.size(); ++i) {
    moved.push_back(old[static_cast<size_t>(order[i])]);
    if (moved.back() != 1) proper.push_back(order[i]);
  }
  if (std::is_sorted(proper.begin(), proper.end())) {
    dimensions = moved;
    return;
  }
  if (!IsRange()) {
    devices = Permuted(devices, old, order);
    dimensions = moved;
    return;
  }
  dimensions = moved;
  if (reshape.size() == 1) {
    reshape = old;
    permutation.assign(order.begin(), order.end());
    Canonicalize();
    return;
  }
  // Possible if the dimensions that are not 1 are just those of the range, transposed.
  std::vector<int64_t> rank_among_proper(old.size(), -1);
  size_t count = 0;
  bool pure = true;
  for (size_t i = 0; i < old.size(); ++i) {
    if (old[i] == 1) continue;
    pure = pure && count < permutation.size() &&
           reshape[static_cast<size_t>(permutation[count])] == old[i];
    rank_among_proper[i] = static_cast<int64_t>(count++);
  }
  if (pure && count == permutation.size()) {
    std::vector<int64_t> combined;
    for (const int64_t d : proper) {
      const int64_t rank = rank_among_proper[static_cast<size_t>(d)];
      combined.push_back(permutation[static_cast<size_t>(rank)]);
    }
    permutation = std::move(combined);
    Canonicalize();
    return;
  }
  Materialize();
  devices = Permuted(devices, old, order);
}

}  // namespace autotune
