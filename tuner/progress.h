#ifndef AUTOTUNE_TUNER_PROGRESS_H_
#define AUTOTUNE_TUNER_PROGRESS_H_

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>

namespace autotune {

// Where a run stands. Data only.
struct ProgressUpdate {
  int64_t measurements = 0;
  std::optional<int64_t> budget;
  double wall_seconds = 0;
  double device_seconds = 0;
  std::optional<double> budget_seconds;
  // Of the whole program, with the default and with the best so far; absent until known.
  std::optional<double> default_seconds;
  std::optional<double> best_seconds;
};

// Is told how a run proceeds. Called from one thread.
class ProgressObserver {
 public:
  virtual ~ProgressObserver() = default;

  // After every batch of measurements.
  virtual void OnProgress(const ProgressUpdate& update) = 0;

  // Something that the user should know now, in one line without a newline.
  virtual void OnMessage(const std::string& message) = 0;

  // No more updates follow; what was drawn is taken away or completed.
  virtual void OnFinish() = 0;
};

// How a ProgressObserver shows itself.
enum class ProgressStyle {
  kBar,    // one line that is drawn again: for a terminal
  kLines,  // a line at each tenth of the budget, and at least every 10 s of work: for a file
  kNone,   // messages only
};

// Shows progress on `stream`, which must outlive it. `columns` is the terminal's width.
std::unique_ptr<ProgressObserver> NewProgress(ProgressStyle style, std::ostream& stream,
                                              int columns = 80);

// The text of one update, for instance
// "12 of 40 measured, 8.1/s, 612.0 us so far (default 640.2 us, 1.05x), 3 s left".
std::string DescribeProgress(const ProgressUpdate& update);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_PROGRESS_H_
