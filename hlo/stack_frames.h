#ifndef AUTOTUNE_HLO_STACK_FRAMES_H_
#define AUTOTUNE_HLO_STACK_FRAMES_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "proto/hlo.pb.h"

namespace autotune {

// Builds the stack frame tables that a module's protobuf needs: XLA writes only frames that some
// instruction refers to, each once, in the order of their first use. Not thread-safe.
class StackFrameCompactor {
 public:
  // Reads frames of `from`, which must outlive this object, and appends to `to`, which must be
  // empty.
  StackFrameCompactor(const proto::StackFrameIndexProto& from, proto::StackFrameIndexProto* to)
      : from_(from), to_(to) {}

  // The new id of a frame of `from`; 0 if it, its location, or a frame above it is not there.
  int32_t Renumber(int32_t frame_id);

 private:
  int32_t AddFrame(const proto::StackFrameIndexProto::StackFrame& old, int32_t location,
                   int32_t parent);
  int32_t AddLocation(int32_t location_id);
  int32_t AddString(const google::protobuf::RepeatedPtrField<std::string>& from, int32_t id,
                    absl::flat_hash_map<std::string, int32_t>* known,
                    google::protobuf::RepeatedPtrField<std::string>* to);

  const proto::StackFrameIndexProto& from_;
  proto::StackFrameIndexProto* to_;
  absl::flat_hash_map<int32_t, int32_t> frames_;
  absl::flat_hash_map<std::pair<int32_t, int32_t>, int32_t> frames_by_content_;
  absl::flat_hash_map<std::tuple<int32_t, int32_t, int32_t, int32_t, int32_t, int32_t>, int32_t>
      locations_;
  absl::flat_hash_map<std::string, int32_t> files_;
  absl::flat_hash_map<std::string, int32_t> functions_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HLO_STACK_FRAMES_H_
