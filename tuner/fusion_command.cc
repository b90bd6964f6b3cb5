#include "tuner/fusion_command.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tuner/fusion_run.h"

namespace autotune {

int RunFusionTuning(const TuneOptions& options, const std::set<std::string>& given,
                    CommandContext& context) {
  const bool joint = options.space == "tile+fusion";
  if (joint && (options.json || !options.recordings.empty())) {
    return context.Fail(kExitWrongUse,
                        "--space tile+fusion works live and without --json: OUT/joint.json, and a "
                        "report.json for each of its halves, hold the results");
  }
  FusionRun run(options, given.contains("--model"), context);
  if (absl::Status status = run.Prepare(); !status.ok()) return context.Fail(status);
  if (!joint) return run.Run();
  const absl::StatusOr<int> code = run.RunJoint();
  return code.ok() ? *code : context.Fail(code.status());
}

}  // namespace autotune
