#ifndef AUTOTUNE_HLO_FUSION_PROTO_H_
#define AUTOTUNE_HLO_FUSION_PROTO_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "proto/hlo.pb.h"

namespace autotune {

// Names and ids that a program does not use yet, for instructions that are added to its protobuf.
// Not thread-safe.
class FreshNames {
 public:
  // Takes note of every name and id of `module`.
  explicit FreshNames(const proto::HloModuleProto& module);

  // `stem` itself if it is free, else with the first free number behind a dot. Takes it.
  std::string Name(absl::string_view stem);
  // An id that no instruction of the program has, fit for the computation with this id: XLA writes
  // either plain numbers or the computation's id in the upper half.
  int64_t Id(int64_t computation_id);

 private:
  absl::flat_hash_set<std::string> names_;
  absl::flat_hash_map<std::string, int64_t> next_suffix_;
  int64_t next_plain_ = 1;
  // Of computations whose instructions' ids have an upper half.
  absl::flat_hash_map<int64_t, int64_t> next_local_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HLO_FUSION_PROTO_H_
