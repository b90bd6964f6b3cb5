#ifndef AUTOTUNE_COSTMODEL_FUSION_FEATURES_H_
#define AUTOTUNE_COSTMODEL_FUSION_FEATURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "costmodel/features.h"
#include "costmodel/fusion_operation.h"
#include "hardware/device_spec.h"
#include "hlo/fusion_graph.h"
#include "hlo/fusion_group.h"

namespace autotune {

// The features of FusionFeaturizer, a schema of its own ("autotune-fusion"). A group has one
// configuration with one feature, which is 0.
const FeatureSchema& FusionFeatureSchema();

// The features of a kernel that a program has, or is expected to have, as a group of its operations
// before optimisation. Nothing is known of layouts and tiles then: features of the group are sums
// and extremes (arithmetic by kind in vector registers, values read and written, the largest
// product), those of an operation its shape and work. Sizes enter as log2(1 + x). What can be
// computed once a program is; immutable, thread-safe.
class FusionFeaturizer {
 public:
  // The graph must outlive this.
  FusionFeaturizer(const FusionGraph* graph, const DeviceSpec& device);

  // What the group takes at least, in seconds: its products at the peak of the matrix units, or
  // each value that it reads or writes once at the published bandwidth, whichever is longer; and at
  // least 100 ns.
  double RooflineSeconds(const FusionGroup& group) const;

  // The group as a graph of its operations and of the values that it reads, with the features of
  // FusionFeatureSchema(). `roofline`: of RooflineSeconds; may be null.
  KernelGraph GraphOf(const FusionGroup& group, double* roofline = nullptr) const;

 private:
  struct Sums;

  void AddMember(int32_t index, Sums* sums) const;
  void AddWritten(int32_t index, Sums* sums) const;
  void AddRead(const FusionGroup& group, int32_t index, Sums* sums) const;
  Sums SumOf(const FusionGroup& group) const;
  double RooflineOf(const Sums& sums) const;
  std::vector<float> Describe(const Sums& sums) const;
  void WriteNode(int32_t index, bool read, bool written, KernelGraph* graph) const;
  static std::vector<std::string> GroupNames();

  friend const FeatureSchema& FusionFeatureSchema();

  const FusionGraph* graph_;
  double bandwidth_;
  std::vector<FusionOperation> nodes_;
};

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_FUSION_FEATURES_H_
