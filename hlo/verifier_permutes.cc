// collective-permute: pairs of devices, and slices that are moved in place.

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "hlo/shape_rules.h"
#include "hlo/verifier_rules.h"

namespace autotune::verifier_rules {
namespace {

using shape_rules::Invalid;

// How often a device may be a source or a target: once for each slice that is moved in place.
int64_t SlicesMoved(const HloInstruction& permute) {
  if (permute.operand_count() != 4) return 1;
  const Shape* starts = &permute.operand(2).shape();
  if (!permute.operand(0).shape().IsArray() && starts->IsTuple() &&
      !starts->tuple_shapes().empty()) {
    starts = &starts->tuple_shapes(0);
  }
  return std::max<int64_t>(1, static_cast<int64_t>(starts->tuple_shapes().size()));
}

absl::Status CheckSourceTargetPairs(const HloInstruction& permute) {
  const int64_t allowed = SlicesMoved(permute);
  const absl::string_view too_often = allowed == 1 ? "twice" : "more often than it has slices";
  absl::flat_hash_map<int64_t, int64_t> sources, targets;
  const int64_t devices = DevicesOf(permute);
  for (const auto& pair : permute.attributes().source_target_pairs()) {
    if (devices > 1 && std::max(pair.source(), pair.target()) >= devices) {
      return Invalid("source_target_pairs names device ", std::max(pair.source(), pair.target()),
                     " of ", devices);
    }
    if (pair.source() < 0 || pair.target() < 0) {
      return Invalid("source_target_pairs names device ", std::min(pair.source(), pair.target()));
    }
    if (++sources[pair.source()] > allowed) {
      return Invalid("device ", pair.source(), " is a source ", too_often);
    }
    if (++targets[pair.target()] > allowed) {
      return Invalid("device ", pair.target(), " is a target ", too_often);
    }
  }
  return absl::OkStatus();
}

// Where in a buffer slices begin: an index for each dimension, or a tuple of such.
absl::Status CheckStarts(const Shape& buffer, const Shape& starts) {
  bool nested = starts.IsTuple() && !starts.tuple_shapes().empty();
  for (const Shape& part : starts.tuple_shapes()) nested &= part.IsTuple();
  const auto rank = static_cast<size_t>(buffer.rank());
  bool fits = starts.IsTuple() && (nested || starts.tuple_shapes().size() == rank);
  for (const Shape& part : starts.tuple_shapes()) {
    fits &= nested ? part.tuple_shapes().size() == rank : part.IsArray();
  }
  if (fits) return absl::OkStatus();
  return Invalid(starts.ToString(false), " does not index ", buffer.ToString(false));
}

// The form with four operands: input, output, and where slices of them begin.
absl::Status CheckInPlace(const HloInstruction& permute) {
  for (int64_t i = 0; i < 2; ++i) {
    const Shape& buffer = permute.operand(i).shape();
    const Shape& starts = permute.operand(i + 2).shape();
    if (buffer.IsTuple() != permute.operand(0).shape().IsTuple() ||
        buffer.tuple_shapes().size() != permute.operand(0).shape().tuple_shapes().size()) {
      return Invalid("collective-permute cannot move ", permute.operand(0).shape().ToString(false),
                     " to ", buffer.ToString(false));
    }
    if (!buffer.IsTuple()) {
      AUTOTUNE_RETURN_IF_ERROR(CheckStarts(buffer, starts));
      continue;
    }
    if (!starts.IsTuple() || starts.tuple_shapes().size() != buffer.tuple_shapes().size()) {
      return Invalid(starts.ToString(false), " does not index ", buffer.ToString(false));
    }
    for (size_t part = 0; part < buffer.tuple_shapes().size(); ++part) {
      AUTOTUNE_RETURN_IF_ERROR(
          CheckStarts(buffer.tuple_shapes()[part], starts.tuple_shapes()[part]));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPermute(const HloInstruction& permute) {
  // Without slices in place all operands are arrays.
  const bool in_place = permute.operand_count() == 4 && permute.operand(2).shape().IsTuple();
  if (in_place) AUTOTUNE_RETURN_IF_ERROR(CheckInPlace(permute));
  AUTOTUNE_RETURN_IF_ERROR(CheckSourceTargetPairs(permute));
  if (permute.opcode() == HloOpcode::kCollectivePermute) {
    if (!in_place) return CheckParts(permute, permute.shape(), -1, true);
    if (ShapesAgree(permute.shape(), permute.operand(1).shape())) return absl::OkStatus();
    return Invalid("declared as ", permute.shape().ToString(false),
                   ", but collective-permute gives ", permute.operand(1).shape().ToString(false));
  }
  // (operands, results, contexts...)
  const Shape& shape = permute.shape();
  if (!shape.IsTuple() || shape.tuple_shapes().size() < 2) {
    return Invalid("collective-permute-start gives (operands, results), not ",
                   shape.ToString(false));
  }
  if (in_place) {
    if (ShapesAgree(shape.tuple_shapes(0), permute.operand(0).shape()) &&
        ShapesAgree(shape.tuple_shapes(1), permute.operand(1).shape())) {
      return absl::OkStatus();
    }
    return Invalid("declared as ", shape.ToString(false), ", which are not its operands");
  }
  AUTOTUNE_RETURN_IF_ERROR(CheckParts(permute, shape.tuple_shapes(0), -1, true));
  return CheckParts(permute, shape.tuple_shapes(1), -1, true);
}

}  // namespace autotune::verifier_rules
