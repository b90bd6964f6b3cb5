#ifndef AUTOTUNE_HLO_BESIDE_MODULE_H_
#define AUTOTUNE_HLO_BESIDE_MODULE_H_

#include <google/protobuf/message.h>

#include <cstdint>
#include <vector>

#include "hlo/read_module.h"
#include "proto/hlo.pb.h"

namespace autotune {

// A part of ReadModule; not for use elsewhere.

// The ids of all instructions, in the order of the message.
std::vector<int64_t> InstructionIds(const proto::HloModuleProto& module);

// What the messages around a module hold beside it; either may be null. `ids_before` are the ids
// that the module's instructions had in the file: where reading has changed them, the buffer
// assignment, which is taken out of *whole, follows.
BesideModule TakeBeside(proto::HloProto* whole, const google::protobuf::Message* outer,
                        const std::vector<int64_t>& ids_before);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_BESIDE_MODULE_H_
