#include "tuner/fusion_command.h"

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tuner/fusion_run.h"

namespace autotune {
namespace {

// Fusion alone has to compile the default; both spaces need a probe of each and a confirmation.
constexpr int64_t kLeastBudget = 1;
constexpr int64_t kLeastJointBudget = 10;

// What such a run cannot do is refused, not ignored; "" if there is nothing.
std::string Contradiction(const TuneOptions& options, const std::set<std::string>& given) {
  const bool joint = options.space == "tile+fusion";
  if (joint && (options.json || !options.recordings.empty())) {
    return "--space tile+fusion works live and without --json: OUT/joint.json, and a report.json "
           "for each of its halves, hold the results";
  }
  if (options.resume) {
    return absl::StrCat("--space ", options.space,
                        " needs no --resume: give the command again with the same --out, and what "
                        "was compiled costs no time");
  }
  std::vector<std::string> unused = {"--budget-seconds"};
  if (!joint) {  // the tiles of a joint run take these
    unused.insert(unused.end(),
                  {"--store", "--match", "--repeats", "--compile-seconds", "--plugin"});
  }
  for (const std::string& option : unused) {
    if (given.contains(option)) {
      return absl::StrCat(option, " is not for --space ", options.space);
    }
  }
  if (!options.recordings.empty() && !options.backend.empty() && options.backend != "replay") {
    return absl::StrCat("a --recording of fusions is replayed, not compiled by --backend ",
                        options.backend);
  }
  const int64_t least = joint ? kLeastJointBudget : kLeastBudget;
  if (options.budget.value_or(kDefaultBudget) < least) {
    return absl::StrCat("--space ", options.space, " needs a --budget of at least ", least);
  }
  return "";
}

}  // namespace

int RunFusionTuning(const TuneOptions& options, const std::set<std::string>& given,
                    CommandContext& context) {
  const bool joint = options.space == "tile+fusion";
  if (const std::string message = Contradiction(options, given); !message.empty()) {
    return context.Fail(kExitWrongUse, message);
  }
  FusionRun run(options, given.contains("--model"), context);
  if (absl::Status status = run.Prepare(); !status.ok()) return context.Fail(status);
  if (!joint) return run.Run();
  const absl::StatusOr<int> code = run.RunJoint();
  return code.ok() ? *code : context.Fail(code.status());
}

}  // namespace autotune
