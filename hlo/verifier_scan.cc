// scan: a computation that runs along a dimension, with values carried from step to step.

#include <vector>

#include "hlo/computation.h"
#include "hlo/int_math.h"
#include "hlo/shape_rules.h"
#include "hlo/verifier_rules.h"

namespace autotune::verifier_rules {
namespace {

using shape_rules::Invalid;

std::vector<const Shape*> PartsOrSelf(const Shape& shape) {
  if (!shape.IsTuple()) return {&shape};
  std::vector<const Shape*> parts;
  for (const Shape& part : shape.tuple_shapes()) parts.push_back(&part);
  return parts;
}

// A step sees `whole` without the dimension that is scanned; all have the same extent there.
absl::Status CheckStep(const Shape& step, const Shape& whole, int64_t dimension, int64_t* extent) {
  if (!whole.IsArray() || dimension >= whole.rank()) {
    return Invalid("scan along dimension ", dimension, " of ", whole.ToString(false));
  }
  if (*extent < 0) *extent = whole.dimensions(dimension);
  if (*extent != whole.dimensions(dimension)) {
    return Invalid("scan has ", *extent, " steps, but dimension ", dimension, " of ",
                   whole.ToString(false), " has another extent");
  }
  DimensionVector rest = whole.dimensions();
  rest.erase(rest.begin() + dimension);
  if (ShapesAgree(step, Shape::Array(whole.element_type(), rest))) return absl::OkStatus();
  return Invalid("a step of scan along dimension ", dimension, " of ", whole.ToString(false),
                 " cannot be ", step.ToString(false));
}

}  // namespace

absl::Status CheckScan(const HloInstruction& scan) {
  if (scan.called_computations().size() != 1 || scan.dimensions().size() != 1 ||
      scan.dimensions()[0] < 0) {
    return Invalid("scan needs one computation and one dimension");
  }
  const HloComputation& step = *scan.called_computations()[0];
  const std::vector<const Shape*> results = PartsOrSelf(scan.shape());
  const std::vector<const Shape*> roots = PartsOrSelf(step.root().shape());
  const int64_t carries = scan.attributes().num_carries();
  const int64_t inputs = SaturatingSubtract(scan.operand_count(), carries);
  const int64_t outputs = SaturatingSubtract(static_cast<int64_t>(results.size()), carries);
  if (carries < 0 || inputs < 0 || outputs < 0 || inputs + outputs == 0) {
    return Invalid("scan of ", scan.operand_count(), " operand(s) and ", results.size(),
                   " result(s) cannot carry ", carries);
  }
  if (static_cast<int64_t>(step.parameters().size()) != scan.operand_count() ||
      roots.size() != results.size()) {
    return Invalid("scan has ", scan.operand_count(), " operand(s) and ", results.size(),
                   " result(s), '", step.name(), "' ", step.parameters().size(), " and ",
                   roots.size());
  }
  int64_t extent = -1;
  for (int64_t i = 0; i < inputs; ++i) {
    AUTOTUNE_RETURN_IF_ERROR(CheckStep(step.parameters()[static_cast<size_t>(i)]->shape(),
                                       scan.operand(i).shape(), scan.dimensions()[0], &extent));
  }
  for (int64_t i = 0; i < outputs; ++i) {
    const auto at = static_cast<size_t>(i);
    AUTOTUNE_RETURN_IF_ERROR(CheckStep(*roots[at], *results[at], scan.dimensions()[0], &extent));
  }
  for (int64_t i = 0; i < carries; ++i) {
    const Shape& carried = scan.operand(inputs + i).shape();
    const auto result = static_cast<size_t>(outputs + i);
    if (ShapesAgree(carried, step.parameters()[static_cast<size_t>(inputs + i)]->shape()) &&
        ShapesAgree(carried, *roots[result]) && ShapesAgree(carried, *results[result])) {
      continue;
    }
    return Invalid("scan carries ", carried.ToString(false), ", which '", step.name(),
                   "' or the result changes");
  }
  return absl::OkStatus();
}

}  // namespace autotune::verifier_rules
