#ifndef AUTOTUNE_TUNER_REPORT_RENDER_H_
#define AUTOTUNE_TUNER_REPORT_RENDER_H_

#include <cstdint>
#include <string>

#include "nlohmann/json_fwd.hpp"
#include "tuner/tuning_report.h"

namespace autotune {

// What is known when a run begins. Data only.
struct RunHeadline {
  std::string backend;
  std::string device;
  TimeSource time_source = TimeSource::kHardware;
  std::string reason;
  std::string program;
  int64_t programs = 0;  // if there are several
  int64_t kernels = 0;
  std::string strategy;
  std::string model;
  uint64_t seed = 0;
};

// The same of a run that is over.
RunHeadline HeadlineOf(const TuningReport& report);

// The first lines of a run's output: the backend with the reason for it, then what is tuned and
// how.
std::string RenderHeadline(const RunHeadline& headline);

// The report for a terminal: a table of kernels, the program's totals, failures, where the files
// are and what to do next. Estimates are marked in every heading. Ends in a newline.
std::string RenderConsole(const TuningReport& report);

// The whole report, documented in docs/cli.md: {"schema": "autotune.tune/1", ...}. Times in
// seconds, fingerprints in 16 hexadecimal digits; members without a value are left out.
nlohmann::json RenderJson(const TuningReport& report);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_REPORT_RENDER_H_
