#ifndef AUTOTUNE_HLO_LITERAL_READER_H_
#define AUTOTUNE_HLO_LITERAL_READER_H_

#include "absl/status/statusor.h"
#include "hlo/literal.h"
#include "hlo/module_builder.h"
#include "proto/xla_data.pb.h"

namespace autotune {

// The literal of a protobuf. Its data points into the message where the message has the literal's
// own form, and into the builder's arena otherwise: the message must live as long as the module.
// Fails with InvalidArgument if the number of elements is not that of the shape, unless there are
// none (the literal is then elided).
absl::StatusOr<const Literal*> ReadLiteral(const proto::LiteralProto& proto,
                                           ModuleBuilder* builder);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_LITERAL_READER_H_
