#include "tuner/program_set.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hlo/read_module.h"
#include "tuner/command_status.h"
#include "tuner/program_sum.h"

namespace autotune {
namespace {

// A file to be read.
struct ProgramFile {
  std::string path;
  bool named = false;  // by its own name, not as part of a folder or pattern
};

absl::StatusOr<std::vector<ProgramFile>> FindFiles(const std::vector<std::string>& arguments) {
  std::vector<ProgramFile> found;
  std::set<std::string> seen;
  for (const std::string& argument : arguments) {
    absl::StatusOr<std::vector<std::string>> files = FindModuleFiles(argument);
    if (!files.ok()) return WithExitCode(kExitBadInput, files.status());
    for (const std::string& path : *files) {
      std::error_code error;
      const std::filesystem::path whole = std::filesystem::weakly_canonical(path, error);
      if (!seen.insert(error ? path : whole.string()).second) continue;
      found.push_back({path, path == argument});
    }
  }
  return found;
}

// Adds programs to a set, one after the other.
class ProgramCollector {
 public:
  explicit ProgramCollector(size_t files) : files_(files) {}

  absl::Status Add(const ProgramFile& file) {
    absl::StatusOr<Program> program = LoadProgram(file.path);
    absl::Status status = program.status();
    if (status.ok()) status = RequireKernels(*program);
    if (!status.ok()) {
      if (file.named) return status;
      if (left_out_++ == 0) first_left_out_ = std::string(status.message());
      return absl::OkStatus();
    }
    ProgramReport member = {.path = program->path, .name = program->name};
    for (const Kernel& kernel : program->kernels) {
      member.kernels.push_back({PositionOf(kernel), kernel.count});
    }
    if (!file.named && IsKnown(member)) {
      ++repeated_;
      return absl::OkStatus();
    }
    for (const ProgramKernel& kernel : member.kernels) {
      set_.program.kernels[kernel.kernel].count += kernel.count;
    }
    for (std::string& warning : program->warnings) {
      set_.program.warnings.push_back(std::move(warning));
    }
    set_.members.push_back(std::move(member));
    return TakeRecording(*std::move(program));
  }

  absl::StatusOr<ProgramSet> Finish() {
    if (set_.members.empty()) {
      return BadInput(absl::StrCat("none of the ", files_,
                                   " programs holds kernels; the first: ", first_left_out_));
    }
    Program& program = set_.program;
    const size_t count = set_.members.size();
    program.path = program.name = absl::StrCat(count, count == 1 ? " program" : " programs");
    if (left_out_ > 0) {
      program.warnings.push_back(absl::StrCat(left_out_, " of ", files_,
                                              " files are left out; the first: ", first_left_out_));
    }
    if (repeated_ > 0) {
      program.warnings.push_back(
          absl::StrCat(repeated_, " of ", files_, " files hold a program that is there already"));
    }
    return std::move(set_);
  }

 private:
  // Where the kernel stands in the set, added with a count of 0 if it is new.
  size_t PositionOf(const Kernel& kernel) {
    const auto [known, is_new] =
        positions_.emplace(kernel.fingerprint, set_.program.kernels.size());
    if (is_new) {
      set_.program.kernels.push_back(kernel);
      set_.program.kernels.back().count = 0;
    }
    return known->second;
  }

  // The same module in another form or place: a dump holds many.
  bool IsKnown(const ProgramReport& member) const {
    return std::any_of(set_.members.begin(), set_.members.end(), [&](const ProgramReport& known) {
      return known.name == member.name && known.kernels == member.kernels;
    });
  }

  absl::Status TakeRecording(Program program) {
    if (!program.recording) return absl::OkStatus();
    if (!set_.program.recording) {
      set_.program.recording = std::move(program.recording);
      return absl::OkStatus();
    }
    absl::Status status = set_.program.recording->Merge(*program.recording);
    if (status.ok()) return status;
    return WithExitCode(kExitBadInput,
                        absl::Status(status.code(), absl::StrCat(program.path, ": ",
                                                                 std::string(status.message()))));
  }

  const size_t files_;
  ProgramSet set_;
  std::map<uint64_t, size_t> positions_;
  int64_t left_out_ = 0;
  int64_t repeated_ = 0;
  std::string first_left_out_;
};

}  // namespace

absl::StatusOr<ProgramSet> LoadPrograms(const std::vector<std::string>& arguments) {
  absl::StatusOr<std::vector<ProgramFile>> files = FindFiles(arguments);
  if (!files.ok()) return files.status();
  if (files->size() == 1) {
    absl::StatusOr<Program> program = LoadProgram(files->front().path);
    if (!program.ok()) return program.status();
    return ProgramSet{*std::move(program), {}};
  }
  ProgramCollector collector(files->size());
  for (const ProgramFile& file : *files) {
    if (absl::Status status = collector.Add(file); !status.ok()) return status;
  }
  return collector.Finish();
}

std::string NameOfPrograms(const std::vector<std::string>& arguments) {
  if (arguments.size() == 1) return arguments.front();
  return absl::StrCat(arguments.front(), " and ", arguments.size() - 1, " more");
}

void SumPrograms(TuningReport& report) {
  for (ProgramReport& program : report.programs) {
    ProgramSum before, after;
    for (const ProgramKernel& part : program.kernels) {
      const KernelReport& kernel = report.kernels[part.kernel];
      const std::optional<double> chosen = SecondsOf(kernel.compiler_default);
      const std::optional<double> best = SecondsOf(kernel.best);
      before.Add(part.count, chosen, chosen, best);
      after.Add(part.count, best, chosen, best);
    }
    program.default_seconds = program.best_seconds = std::nullopt;
    if (before.kernels > 0) program.default_seconds = before.seconds;
    if (after.kernels > 0) program.best_seconds = after.seconds;
  }
}

}  // namespace autotune
