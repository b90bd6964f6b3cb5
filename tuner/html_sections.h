#ifndef AUTOTUNE_TUNER_HTML_SECTIONS_H_
#define AUTOTUNE_TUNER_HTML_SECTIONS_H_

#include <string>

#include "tuner/html_page.h"
#include "tuner/tuning_report.h"

namespace autotune {

// The sections of a run's page, in the order in which it shows them. Each adds itself to `page`, or
// nothing where the run has nothing to show.

// Where the times come from, the speed-up with its interval, the program's time under each choice,
// what it cost, warnings.
void AddHeadline(const TuningReport& report, HtmlPage& page);
// Best so far, and every measurement against its kernel's default.
void AddSearch(const TuningReport& report, HtmlPage& page);
// What each of several programs gained.
void AddPrograms(const TuningReport& report, HtmlPage& page);
void AddKernels(const TuningReport& report, HtmlPage& page);
void AddRoofline(const TuningReport& report, HtmlPage& page);
// Predicted against measured, with rank correlation and top-K error.
void AddModels(const TuningReport& report, HtmlPage& page);
// Budget and time.
void AddSpending(const TuningReport& report, HtmlPage& page);
// Fates, failures by kind, and the table of all candidates.
void AddCandidates(const TuningReport& report, HtmlPage& page);
// Commands to go on with, and what the run depended on.
void AddEnvironment(const TuningReport& report, HtmlPage& page);

// True if the times were replayed from a recording.
inline bool Replays(const TuningReport& report) { return report.backend == "replay"; }

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_HTML_SECTIONS_H_
