#include "tuner/progress.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tuner/printable.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

// How much of the budget is used, in [0, 1]; nullopt without a limit.
std::optional<double> Share(const ProgressUpdate& update) {
  std::optional<double> share;
  if (update.budget && *update.budget > 0) {
    share = static_cast<double>(update.measurements) / static_cast<double>(*update.budget);
  }
  if (update.budget_seconds && *update.budget_seconds > 0) {
    share = std::max(share.value_or(0), update.device_seconds / *update.budget_seconds);
  }
  if (share) share = std::clamp(*share, 0.0, 1.0);
  return share;
}

// "45 s", "3 min 20 s", "2 h 5 min".
std::string Rough(double seconds) {
  const auto s = static_cast<int64_t>(std::ceil(std::min(seconds, 1e9)));
  if (s < 60) return absl::StrCat(s, " s");
  if (s < 3600) return absl::StrCat(s / 60, " min ", s % 60, " s");
  return absl::StrCat(s / 3600, " h ", s / 60 % 60, " min");
}

class NoProgress : public ProgressObserver {
 public:
  explicit NoProgress(std::ostream& stream) : stream_(stream) {}
  void OnProgress(const ProgressUpdate&) override {}
  void OnMessage(const std::string& message) override {
    stream_ << PrintableText(message) << std::endl;
  }
  void OnFinish() override {}

 private:
  std::ostream& stream_;
};

class LineProgress : public ProgressObserver {
 public:
  explicit LineProgress(std::ostream& stream) : stream_(stream) {}

  void OnProgress(const ProgressUpdate& update) override {
    const int tenth = static_cast<int>(10 * Share(update).value_or(0));
    if (tenth <= tenth_ && update.wall_seconds < shown_at_ + 10) return;
    tenth_ = std::max(tenth, tenth_);
    shown_at_ = update.wall_seconds;
    stream_ << DescribeProgress(update) << std::endl;
  }
  void OnMessage(const std::string& message) override {
    stream_ << PrintableText(message) << std::endl;
  }
  void OnFinish() override {}

 private:
  std::ostream& stream_;
  int tenth_ = -1;
  double shown_at_ = 0;
};

class BarProgress : public ProgressObserver {
 public:
  BarProgress(std::ostream& stream, int columns) : stream_(stream), columns_(columns) {}

  void OnProgress(const ProgressUpdate& update) override {
    // Drawing more often than the eye sees only slows a fast backend down.
    if (drawn_ && update.wall_seconds < drawn_at_ + 0.05) return;
    drawn_at_ = update.wall_seconds;
    drawn_ = true;
    std::string line;
    if (const std::optional<double> share = Share(update)) {
      const int filled = static_cast<int>(*share * kBarWidth);
      line = absl::StrCat("[", std::string(static_cast<size_t>(filled), '#'),
                          std::string(static_cast<size_t>(kBarWidth - filled), '.'), "] ");
    }
    absl::StrAppend(&line, DescribeProgress(update));
    const size_t room = static_cast<size_t>(std::max(columns_ - 1, 20));
    stream_ << "\r\033[K" << line.substr(0, room) << std::flush;
  }
  void OnMessage(const std::string& message) override {
    OnFinish();
    stream_ << PrintableText(message) << std::endl;
  }
  void OnFinish() override {
    if (drawn_) stream_ << "\r\033[K" << std::flush;
    drawn_ = false;
  }

 private:
  static constexpr int kBarWidth = 20;
  std::ostream& stream_;
  int columns_;
  bool drawn_ = false;
  double drawn_at_ = 0;
};

}  // namespace

std::string DescribeProgress(const ProgressUpdate& update) {
  std::string text = absl::StrCat(update.measurements);
  if (update.budget) absl::StrAppend(&text, " of ", *update.budget);
  absl::StrAppend(&text, " measured");
  if (update.wall_seconds > 0 && update.measurements > 0) {
    absl::StrAppendFormat(&text, ", %.1f/s",
                          static_cast<double>(update.measurements) / update.wall_seconds);
  }
  if (update.best_seconds) {
    absl::StrAppend(&text, ", best so far ", FormatSeconds(*update.best_seconds));
  }
  if (update.best_seconds && update.default_seconds) {
    absl::StrAppend(&text, " (default ", FormatSeconds(*update.default_seconds), ", ",
                    FormatSpeedup(*update.default_seconds / *update.best_seconds), ")");
  }
  const std::optional<double> share = Share(update);
  if (share && *share > 0 && *share < 1) {
    absl::StrAppend(&text, ", ", Rough(update.wall_seconds * (1 - *share) / *share), " left");
  }
  return text;
}

std::unique_ptr<ProgressObserver> NewProgress(ProgressStyle style, std::ostream& stream,
                                              int columns) {
  switch (style) {
    case ProgressStyle::kBar:
      return std::make_unique<BarProgress>(stream, columns);
    case ProgressStyle::kLines:
      return std::make_unique<LineProgress>(stream);
    case ProgressStyle::kNone:
      break;
  }
  return std::make_unique<NoProgress>(stream);
}

}  // namespace autotune
