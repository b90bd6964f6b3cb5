#ifndef AUTOTUNE_HARDWARE_BUNDLE_SCHEDULE_H_
#define AUTOTUNE_HARDWARE_BUNDLE_SCHEDULE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autotune {

// One loop of a static schedule.
struct ScheduledLoop {
  int depth = 1;  // 1 for an outermost loop
  // Trips of the loop; nullopt where the exit test compares with something that is no constant.
  std::optional<int64_t> trip_count;
  // What counts where it is not known: the rows of the window that the loop transfers row by row
  // (rows outside the operand are skipped, hence the variable bound), else 1.
  int64_t assumed_trips = 1;
  // Bundles of the body in one trip, inner loops weighted by their own trip counts.
  double body_bundles = 0;
  // Cycles of the body in one trip that `vdelay` adds to its bundles.
  double body_delays = 0;
  // Bundles and delays of the body in one trip that a branch may skip and that neither transfer nor
  // wait nor multiply matrices: what happens to an accumulator once it is complete. The bundle
  // where the branch lands counts with them.
  double body_conditional = 0;
};

// One transfer between memories that the schedule starts.
struct ScheduledTransfer {
  enum class Direction { kUnknown, kHbmToVmem, kVmemToHbm };
  Direction direction = Direction::kUnknown;
  // Bytes of the window, where the schedule describes it; else 0.
  int64_t window_bytes = 0;
  // The pieces of the window that are contiguous in the operand.
  int64_t contiguous_runs = 1;
  // How often the window is transferred if no predicate holds it back: the trips of the outermost
  // loop around it (an inner loop issues one window row by row).
  double executions = 1;
};

// What the static schedule of one kernel says. A plain value.
struct BundleSchedule {
  // The instruction that the last bundle names ("fusion.191"); empty where none is named.
  std::string kernel;
  int64_t static_bundles = 0;
  // Bundles weighted by the trip counts of the loops around them: a bundle takes one clock cycle
  // when nothing stalls, so this estimates compute cycles.
  double weighted_bundles = 0;
  // Cycles that the schedule itself waits (`vdelay N`), weighted in the same way.
  double weighted_delays = 0;
  // The part of the two above that is conditional (ScheduledLoop::body_conditional).
  double conditional_cycles = 0;
  // In the order in which they end.
  std::vector<ScheduledLoop> loops;
  std::vector<ScheduledTransfer> transfers;

  // Trips of the outermost loop that weighs most; 0 without loops. The software pipeline's
  // prologue and epilogue are part of them.
  int64_t MainTripCount() const;
};

// Reads a `*final_bundles.txt` as libtpu 0.0.52 writes it: a key to the labels, then one VLIW
// bundle a line, `0xADDR LABELS : >> { ... }`, where the `>` give the loop depth and `LB` starts a
// loop's body. Comments may span lines.
//
// Streaming: memory does not grow with the file. Not thread-safe; one parser per file.
class BundleScheduleParser {
 public:
  BundleScheduleParser();
  ~BundleScheduleParser();
  BundleScheduleParser(const BundleScheduleParser&) = delete;
  BundleScheduleParser& operator=(const BundleScheduleParser&) = delete;

  // Feeds one line, without its end. InvalidArgument, naming the line, for a format that is not
  // known: never a wrong number.
  absl::Status AddLine(absl::string_view line);

  // Ends the file. InvalidArgument if it held no bundle, or ended inside a comment or bundle.
  absl::StatusOr<BundleSchedule> Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Reads a whole file. NotFound if it cannot be opened.
absl::StatusOr<BundleSchedule> ReadBundleSchedule(const std::string& path);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_BUNDLE_SCHEDULE_H_
