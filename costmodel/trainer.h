#ifndef AUTOTUNE_COSTMODEL_TRAINER_H_
#define AUTOTUNE_COSTMODEL_TRAINER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "costmodel/example_store.h"
#include "costmodel/network.h"

namespace autotune {

// How well scores rank and estimate the configurations of a set of kernels. Averages are over
// kernels; those with fewer than two different times have no tau.
struct RankingQuality {
  double kendall_tau = 0;
  double tile_size_ape = 0;  // per cent, over all kernels as one program
  double top1_error = 0;     // share, mean over kernels
  double mape = 0;           // per cent, of single times, over all configurations
  int64_t kernels = 0;
  int64_t configs = 0;
};

// The quality of `base + residual` of a network over a store. Empty stores give zeros. `jobs`
// threads; the result does not depend on them.
absl::StatusOr<RankingQuality> AssessNetwork(const Network& network, const ExampleStore& store,
                                             int jobs);
// The same of `base` alone: the analytical model.
absl::StatusOr<RankingQuality> AssessBase(const ExampleStore& store);

// How to train. The network's input sizes are filled in from the examples.
struct TrainerOptions {
  NetworkOptions network;
  TrainingOptions step;
  int64_t epochs = 60;
  int64_t batch_kernels = 8;
  // Configurations of a kernel in one step, drawn anew each time.
  int64_t kernel_configs = 48;
  // Training ends when the validation score has not risen for so many epochs.
  int64_t patience = 15;
  int jobs = 1;
  // A file that the state is kept in after each epoch, and taken up from if it is there; empty for
  // none. A state of other options or data is refused with FailedPrecondition.
  std::string checkpoint;
  // Told apart from others in the checkpoint: what the data are.
  uint64_t data_fingerprint = 0;
};

// What an epoch came to.
struct EpochReport {
  int64_t epoch = 0;  // from 1
  double learning_rate = 0;
  double loss = 0;  // mean over steps and members
  RankingQuality validation;
  bool best = false;  // the best so far
};

// The result: the network as it was after the best epoch.
struct TrainingResult {
  std::unique_ptr<Network> network;
  std::vector<EpochReport> epochs;
  int64_t best_epoch = 0;
  bool interrupted = false;
};

// Called after each epoch; false ends training (the checkpoint stays).
using TrainingProgress = std::function<bool(const EpochReport&)>;

// Trains a network to predict `target - base` of `training`; the epoch with the best validation
// score is kept: for a rank loss tau minus Tile-Size APE / 100, for squared errors minus MAPE. With
// an empty `validation` the last epoch is. Results depend on the options, the seed and the data,
// and neither on `jobs` (members are trained in parallel) nor on interruptions. InvalidArgument for
// an empty training set; Unavailable without the module of learned models.
absl::StatusOr<TrainingResult> TrainNetwork(const ExampleStore& training,
                                            const ExampleStore& validation,
                                            const TrainerOptions& options,
                                            const TrainingProgress& progress);

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_TRAINER_H_
