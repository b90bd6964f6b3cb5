#include "tuner/default_model.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "costmodel/model_file.h"
#include "costmodel/network_module.h"
#include "tuner/models.h"

namespace autotune {
namespace {

// OK if learned models can be had for the device, as far as can be told without loading LibTorch.
absl::Status CheckLearned(const std::string& device) {
  absl::StatusOr<std::string> shipped = FindShippedModel("tile");
  if (!shipped.ok()) return shipped.status();
  absl::StatusOr<ModelFile> file = LoadModel(*shipped);
  if (!file.ok()) return absl::DataLossError(file.status().message());
  if (!file->constants.contains(device)) {
    std::vector<std::string> known;
    for (const auto& [name, constants] : file->constants) known.push_back(name);
    return absl::NotFoundError(absl::StrCat("the trained weights know ",
                                            absl::StrJoin(known, " and "), ", not ", device,
                                            "; `autotune train` makes others, for --model DIR"));
  }
  return FindNetworkModule().status();
}

}  // namespace

absl::StatusOr<DefaultModel> CreateDefaultModel(const std::string& device, TimeSource source) {
  DefaultModel chosen;
  absl::Status status = CheckLearned(device);
  if (status.ok()) {
    absl::StatusOr<std::shared_ptr<CostModel>> learned = CreateModel("learned", device, source);
    if (learned.ok()) return DefaultModel{"learned", *std::move(learned)};
    status = learned.status();
  }
  absl::StatusOr<std::shared_ptr<CostModel>> analytical = CreateModel("analytical", device, source);
  if (!analytical.ok()) return analytical.status();
  return DefaultModel{
      "analytical", *std::move(analytical),
      absl::StrCat("the analytical model ranks, not the learned one: ",
                   std::string(status.message()), " (--model analytical asks for no other)"),
      !absl::IsNotFound(status) && !absl::IsUnavailable(status)};
}

bool AnythingToRank(absl::Span<const Kernel> kernels,
                    const std::function<KernelSpace(const Kernel&)>& space_of, RecordStore& store,
                    const MeasurementContext& context, VersionMatch match) {
  return std::any_of(kernels.begin(), kernels.end(), [&](const Kernel& kernel) {
    const KernelSpace space = space_of(kernel);
    if (space.space == nullptr || space.opaque) return false;
    const std::optional<int64_t> size = space.space->Size();
    if (!size) return true;
    const absl::StatusOr<std::vector<StoredResult>> known =
        store.Lookup(kernel.fingerprint, context, match);
    return !known.ok() || static_cast<int64_t>(known->size()) < *size;
  });
}

}  // namespace autotune
