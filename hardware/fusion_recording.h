#ifndef AUTOTUNE_HARDWARE_FUSION_RECORDING_H_
#define AUTOTUNE_HARDWARE_FUSION_RECORDING_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hardware/fusion_compiler.h"
#include "hardware/measurement.h"
#include "hlo/fusion_decision.h"
#include "hlo/fusion_graph.h"

namespace autotune {

// What a fusion recording is about. Everything must agree for two of them to be compared.
struct FusionOrigin {
  std::string program;       // its name
  uint64_t fingerprint = 0;  // FusionFingerprint of its graph
  int64_t edges = 0;
  std::string device;    // "tpu-v3"
  std::string versions;  // the compiler's

  friend bool operator==(const FusionOrigin&, const FusionOrigin&) = default;
};

// A kernel that occurred in a compilation.
struct FusionRecordedKernel {
  std::vector<int32_t> nodes;
  int64_t executions = 1;
  FusionTimes once;          // of one execution
  uint64_t fingerprint = 0;  // Kernel::fingerprint; 0 where it was not recorded

  // By all but the fingerprint.
  friend bool operator<(const FusionRecordedKernel& a, const FusionRecordedKernel& b);
};

// One compiled configuration, or the failure to compile it.
struct FusionEntry {
  FusionDecision decision;
  std::string key;  // of the realised grouping
  FusionTimes total;
  std::vector<int32_t> kernels;  // indices into FusionRecording::kernels()
  double compile_seconds = 0;
  std::optional<Failure> failure;
};

// Whole-program compilations of one program, as they were made: what methods are compared on, and
// what an interrupted sweep goes on from. A value; all times are estimates.
//
// As a file it is JSON lines, perhaps gzip-compressed: a header, then for each compilation one line
// and before it one for each kernel that is new.
class FusionRecording {
 public:
  explicit FusionRecording(FusionOrigin origin) : origin_(std::move(origin)) {}

  // NotFound for a missing file; InvalidArgument, naming file and line, for anything else that is
  // no recording. With `cut_off` an incomplete entry at the end, which an interrupted writer
  // leaves, is left out; *cut_off is the number of (uncompressed) bytes before it.
  static absl::StatusOr<FusionRecording> Load(const std::string& path, int64_t* cut_off = nullptr);
  static absl::StatusOr<FusionRecording> Parse(absl::string_view text, const std::string& name,
                                               int64_t* cut_off = nullptr);

  const FusionOrigin& origin() const { return origin_; }
  // The compiler's version is known once it has compiled something.
  void set_versions(std::string versions) { origin_.versions = std::move(versions); }
  const std::vector<FusionEntry>& entries() const { return entries_; }
  const std::vector<FusionRecordedKernel>& kernels() const { return kernels_; }

  // The entry of exactly these cuts; null if there is none.
  const FusionEntry* Find(const FusionDecision& decision) const;
  // The grouping that an entry realised.
  RealisedGrouping GroupingOf(const FusionEntry& entry) const;

  // Adds a compilation; the same cuts again replace nothing and are left out.
  void Add(const FusionDecision& decision, const std::variant<FusionCompilation, Failure>& result);

  // The header's line, and the lines of entry `i` (its new kernels, itself).
  std::string HeaderLine() const;
  std::string EntryLines(size_t i) const;
  std::string Serialize() const;

 private:
  absl::Status AddLine(absl::string_view line);
  // Of an entry that was never written.
  void DropUnusedKernels();

  FusionOrigin origin_;
  std::vector<FusionEntry> entries_;
  std::vector<FusionRecordedKernel> kernels_;
  std::vector<size_t> first_use_;  // the entry that a kernel came with
  std::map<FusionRecordedKernel, int32_t> kernel_index_;
  absl::flat_hash_map<std::string, size_t> by_cuts_;
};

// A fingerprint of the graph: of its operations, edges and shapes, whatever the names.
uint64_t FusionFingerprint(const FusionGraph& graph);

// Compiles the decisions that the recording at `path` does not hold and appends each as it is done,
// so that an interrupted sweep goes on where it was, with its kernels known to the compiler.
// FailedPrecondition if the file is about something else, or if the default fails: nothing can be
// compared without it, and it is not appended, so that another call tries again. `proceed`, called
// before each with what is recorded so far, ends the sweep by returning false.
absl::Status RecordFusions(FusionCompiler& compiler, const FusionGraph& graph,
                           const std::string& program_name,
                           const std::vector<FusionDecision>& decisions, const std::string& path,
                           const std::function<bool(const FusionRecording&)>& proceed);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_FUSION_RECORDING_H_
