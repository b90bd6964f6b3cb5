#ifndef AUTOTUNE_HLO_BACKEND_CONFIG_TEXT_H_
#define AUTOTUNE_HLO_BACKEND_CONFIG_TEXT_H_

#include "absl/strings/string_view.h"
#include "hlo/module_builder.h"

namespace autotune {

// The text of a backend configuration as XLA keeps it: without `"wait_on_operation_queues":[],`, a
// field that older versions wrote for GPUs and newer ones do not know. `config` itself where there
// is none, else a copy in the builder's arena. Linear in the text.
absl::string_view NormalizedBackendConfig(absl::string_view config, ModuleBuilder* builder);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_BACKEND_CONFIG_TEXT_H_
