#ifndef AUTOTUNE_TUNER_PROGRAM_SET_H_
#define AUTOTUNE_TUNER_PROGRAM_SET_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tuner/program.h"
#include "tuner/tuning_report.h"

namespace autotune {

// Programs that are tuned together, as if they were one. A value.
struct ProgramSet {
  // The program, if it is one. Else each kernel of all of them once, with its executions in all of
  // them; their recordings as one; no module.
  Program program;
  // The programs with their kernels, as positions in program.kernels, without times; empty for one.
  std::vector<ProgramReport> members;
};

// Reads the programs that the arguments stand for: files, folders and patterns, each file once. Of
// a folder or pattern those without kernels (before optimisation, or not tiled) and those that
// cannot be read are left out, with a warning; so is the same program in another file. Errors carry
// the exit code for bad input: for a named file as LoadProgram's, for one of several also if it has
// no kernels, and if nothing is left.
absl::StatusOr<ProgramSet> LoadPrograms(const std::vector<std::string>& arguments);

// "a.hlo", "a.hlo and 2 more".
std::string NameOfPrograms(const std::vector<std::string>& arguments);

// Sums the times of the report's kernels up for each of its programs, under the default and the
// best found (see ProgramSum).
void SumPrograms(TuningReport& report);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_PROGRAM_SET_H_
