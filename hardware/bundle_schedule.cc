#include "hardware/bundle_schedule.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace autotune {
namespace {

using absl::string_view;

// The text from `position` up to the first character that is no part of a register's name.
string_view RegisterName(string_view text) {
  size_t end = 0;
  while (end < text.size() && (absl::ascii_isalnum(text[end]) || text[end] == '_')) ++end;
  return text.substr(0, end);
}

// The integer that `text` begins with.
std::optional<int64_t> LeadingInteger(string_view text) {
  size_t end = 0;
  while (end < text.size() && absl::ascii_isdigit(text[end])) ++end;
  int64_t value = 0;
  if (end == 0 || !absl::SimpleAtoi(text.substr(0, end), &value)) return std::nullopt;
  return value;
}

// The numbers of "(1, 2, 4, 2)"; nullopt if it is anything else.
std::optional<std::vector<int64_t>> Tuple(string_view text) {
  if (!absl::ConsumePrefix(&text, "(")) return std::nullopt;
  const size_t end = text.find(')');
  if (end == string_view::npos) return std::nullopt;
  std::vector<int64_t> values;
  for (string_view part : absl::StrSplit(text.substr(0, end), ',', absl::SkipWhitespace())) {
    int64_t value = 0;
    if (!absl::SimpleAtoi(part, &value) || value < 0) return std::nullopt;
    values.push_back(value);
  }
  return values;
}

// What the comment of a transfer says of its window, in elements of `element_size_in_bytes`.
struct WindowDescription {
  std::vector<int64_t> base;    // the operand's extents, major to minor
  std::vector<int64_t> window;  // the window's

  int64_t Elements() const {
    int64_t product = 1;
    for (int64_t extent : window) {
      if (__builtin_mul_overflow(product, extent, &product)) return 0;
    }
    return product;
  }

  // A piece ends with the last dimension that the window does not fill.
  int64_t ContiguousRuns() const {
    size_t filled = window.size();
    while (filled > 0 && filled <= base.size() && window[filled - 1] >= base[filled - 1]) --filled;
    int64_t runs = 1;
    for (size_t i = 0; i + 1 < filled; ++i) runs *= std::max<int64_t>(1, window[i]);
    return runs;
  }
};

// The start of a bundle's line: "  0xaf LB: > ".
struct BundleHead {
  int64_t address = 0;
  bool starts_loop = false;
  int depth = 0;
};

// Takes the head off `line`, which then begins with "{". False if it does not begin a bundle.
bool ConsumeHead(string_view* line, BundleHead* head) {
  string_view rest = absl::StripLeadingAsciiWhitespace(*line);
  const size_t address_end = rest.find_first_of(" \t:");
  if (address_end == string_view::npos) return false;
  const string_view address = rest.substr(0, address_end);
  if (address != "0" &&
      !(absl::StartsWith(address, "0x") && absl::SimpleHexAtoi(address, &head->address))) {
    return false;
  }
  rest.remove_prefix(address_end);
  const size_t colon = rest.find(':');
  if (colon == string_view::npos) return false;
  for (string_view label : absl::StrSplit(rest.substr(0, colon), ' ', absl::SkipWhitespace())) {
    if (label.size() != 2 || !absl::ascii_isupper(label[0])) return false;
    if (label == "LB") head->starts_loop = true;
  }
  rest.remove_prefix(colon + 1);
  rest = absl::StripLeadingAsciiWhitespace(rest);
  while (absl::ConsumePrefix(&rest, ">")) {
    ++head->depth;
    rest = absl::StripLeadingAsciiWhitespace(rest);
  }
  if (!absl::StartsWith(rest, "{")) return false;
  *line = rest;
  return true;
}

}  // namespace

int64_t BundleSchedule::MainTripCount() const {
  const ScheduledLoop* main = nullptr;
  auto weight = [](const ScheduledLoop& loop) {
    return loop.body_bundles * static_cast<double>(loop.trip_count.value_or(loop.assumed_trips));
  };
  for (const ScheduledLoop& loop : loops) {
    if (loop.depth == 1 && (main == nullptr || weight(loop) > weight(*main))) main = &loop;
  }
  return main == nullptr ? 0 : main->trip_count.value_or(main->assumed_trips);
}

// Loops are followed by their depth marks. Some bundles inside a loop print with a smaller depth,
// so a loop ends only after its exit test was seen: a branch back, taken while a comparison of the
// trip counter with a constant does not hold.
struct BundleScheduleParser::State {
  struct Loop {
    ScheduledLoop loop;
    std::vector<std::string> regions;  // that begin with the body: a branch to one is the way back
    std::map<std::string, int64_t> steps;  // counters and what is added to them
    // Trips by the predicates "counter >= N" and "counter > N" that the body computes; nullopt
    // where N is no constant. Branches forward test the latter too.
    std::map<std::string, std::optional<int64_t>> bounds;
    std::map<std::string, std::optional<int64_t>> greater_bounds;
    std::optional<int64_t> marked_bound;  // of the one marked as the exit test
    std::optional<int64_t> branch_bound;  // of the last one that a branch tests
    bool branch_seen = false;             // a conditional branch that may be the way back
    std::vector<size_t> transfers;        // started in it, inner loops included
    int64_t issued_rows = 0;              // extent of the first dimension of a window it transfers
  };

  BundleSchedule result;
  std::vector<Loop> open;
  // What a forward branch may skip: from the branch to the bundle that ends the region.
  struct SkippableRegion {
    std::string name;   // "17"
    size_t loops = 0;   // open loops at the branch
    double cycles = 0;  // without those of regions inside it
    bool plain = true;  // neither transfers, waits nor matrix products
  };

  int64_t line = 0;
  int64_t last_address = -1;
  bool in_key = false;
  bool in_comment = false;
  bool in_bundle = false;
  bool at_loop_start = false;
  std::optional<size_t> described_transfer;
  WindowDescription window;
  std::vector<SkippableRegion> regions;

  absl::Status Error(string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("static schedule, line ", line, ": ", what));
  }

  void CloseInnermost() {
    Loop ended = std::move(open.back());
    open.pop_back();
    ScheduledLoop& loop = ended.loop;
    loop.trip_count = ended.marked_bound.has_value() ? ended.marked_bound : ended.branch_bound;
    if (!loop.trip_count.has_value() && ended.issued_rows > 0)
      loop.assumed_trips = ended.issued_rows;
    const double trips = static_cast<double>(loop.trip_count.value_or(loop.assumed_trips));
    if (open.empty()) {
      result.weighted_bundles += trips * loop.body_bundles;
      result.weighted_delays += trips * loop.body_delays;
      result.conditional_cycles += trips * loop.body_conditional;
    } else {
      open.back().loop.body_bundles += trips * loop.body_bundles;
      open.back().loop.body_delays += trips * loop.body_delays;
      open.back().loop.body_conditional += trips * loop.body_conditional;
    }
    // An inner loop issues the rows of one window.
    if (open.empty()) {
      for (size_t i : ended.transfers) result.transfers[i].executions *= trips;
    }
    if (!open.empty()) {
      auto& outer = open.back().transfers;
      outer.insert(outer.end(), ended.transfers.begin(), ended.transfers.end());
    }
    result.loops.push_back(loop);
  }

  void FollowLoops(const BundleHead& head) {
    while (!open.empty()) {
      const Loop& innermost = open.back();
      const bool next_starts = head.starts_loop && innermost.loop.depth >= head.depth;
      const bool ended = innermost.loop.depth > head.depth && innermost.branch_seen;
      if (!next_starts && !ended) break;
      CloseInnermost();
    }
    if (!head.starts_loop) return;
    Loop loop;
    loop.loop.depth = static_cast<int>(open.size()) + 1;
    open.push_back(std::move(loop));
  }

  // A piece of a bundle outside comments: "%p7_p2 = scmp.ge.s32.totalorder %s10_s5, 343".
  void ReadOperation(string_view operation) {
    operation = absl::StripAsciiWhitespace(operation);
    if (absl::StrContains(operation, "scmp.ge.")) return ReadComparison(operation, false);
    if (absl::StrContains(operation, "scmp.gt.")) return ReadComparison(operation, true);
    if (absl::StrContains(operation, "= sadd.s32 ")) ReadAddition(operation);
    if (absl::StrContains(operation, "sbr.rel")) return ReadBranch(operation);
    size_t at = operation.find("vdelay ");
    if (at != string_view::npos) {
      const double cycles =
          static_cast<double>(LeadingInteger(operation.substr(at + 7)).value_or(0));
      (open.empty() ? result.weighted_delays : open.back().loop.body_delays) += cycles;
      if (!regions.empty()) regions.back().cycles += cycles;
    }
    at = operation.find("= dma");
    if (at != string_view::npos && !absl::StartsWith(operation.substr(at), "= dma.done")) {
      ReadTransfer(operation.substr(at + 2));
    } else if (at != string_view::npos || absl::StrContains(operation, "= vmat")) {
      for (SkippableRegion& region : regions) region.plain = false;
    }
  }

  // "%s365_s4 = sadd.s32 8, %s45897_s4": a counter and its step.
  void ReadAddition(string_view operation) {
    if (open.empty() || !absl::ConsumePrefix(&operation, "%")) return;
    const size_t operands = operation.find("sadd.s32 ") + 9;
    const std::optional<int64_t> step = LeadingInteger(operation.substr(operands));
    if (step.value_or(0) > 0) open.back().steps[std::string(RegisterName(operation))] = *step;
  }

  // A counter counts from 0. One that is left at ">= N" counts trips; one that is left at "> N"
  // may count elements.
  void ReadComparison(string_view operation, bool greater) {
    if (open.empty() || !absl::ConsumePrefix(&operation, "%")) return;
    const std::string predicate(RegisterName(operation));
    const size_t comma = operation.rfind(", ");
    if (comma == string_view::npos) return;
    std::optional<int64_t> trips = LeadingInteger(operation.substr(comma + 2));
    if (greater && trips.has_value()) {
      const string_view counter = operation.substr(operation.rfind('%', comma) + 1);
      const auto step = open.back().steps.find(std::string(RegisterName(counter)));
      trips = *trips / (step == open.back().steps.end() ? 1 : step->second) + 1;
    }
    (greater ? open.back().greater_bounds : open.back().bounds)[predicate] = trips;
    if (!greater) last_comparison = trips;
  }

  // "sbr.rel (!%p7_p2) target = $region90". A branch back is one "while not"; where the body names
  // its regions, it goes to one of them, whatever its predicate compares.
  void ReadBranch(string_view operation) {
    const size_t target = operation.find("$region");
    if (target != string_view::npos && BranchesBack(operation, target + 7)) return;
    if (target != string_view::npos) {
      SkippableRegion region;
      region.name = std::string(RegisterName(operation.substr(target + 7)));
      region.loops = open.size();
      regions.push_back(std::move(region));
    }
    const size_t at = operation.find("(!%");
    if (open.empty() || at == string_view::npos) return;
    Loop& loop = open.back();
    const auto bound = loop.bounds.find(std::string(RegisterName(operation.substr(at + 3))));
    if (bound == loop.bounds.end()) return;
    loop.branch_seen = true;
    loop.branch_bound = bound->second;
  }

  bool BranchesBack(string_view operation, size_t target) {
    if (open.empty()) return false;
    Loop& loop = open.back();
    const std::string region(RegisterName(operation.substr(target)));
    if (std::find(loop.regions.begin(), loop.regions.end(), region) == loop.regions.end()) {
      return false;
    }
    loop.branch_seen = true;
    const size_t at = operation.find("(!%");
    if (at == string_view::npos) return true;
    const std::string predicate(RegisterName(operation.substr(at + 3)));
    for (const auto* bounds : {&loop.bounds, &loop.greater_bounds}) {
      const auto bound = bounds->find(predicate);
      if (bound != bounds->end()) loop.branch_bound = bound->second;
    }
    return true;
  }

  // A branch that nothing ends, a branch back for instance, is dropped with the region around it.
  void EndRegion(string_view name) {
    size_t i = regions.size();
    while (i > 0 && regions[i - 1].name != name) --i;
    if (i == 0) return;
    const SkippableRegion& ended = regions[i - 1];
    double unended = 0;
    for (size_t j = i; j < regions.size(); ++j) unended += regions[j].cycles;
    if (ended.plain && ended.loops == open.size()) {
      (open.empty() ? result.conditional_cycles : open.back().loop.body_conditional) +=
          ended.cycles + unended;
    }
    regions.resize(i - 1);
  }

  void ReadTransfer(string_view operation) {
    ScheduledTransfer transfer;
    if (absl::StartsWith(operation, "dma.hbm_to_vmem")) {
      transfer.direction = ScheduledTransfer::Direction::kHbmToVmem;
    } else if (absl::StartsWith(operation, "dma.vmem_to_hbm")) {
      transfer.direction = ScheduledTransfer::Direction::kVmemToHbm;
    }
    described_transfer = result.transfers.size();
    window = {};
    for (SkippableRegion& region : regions) region.plain = false;
    if (!open.empty()) open.back().transfers.push_back(result.transfers.size());
    result.transfers.push_back(transfer);
  }

  void ReadComment(string_view comment) {
    comment = absl::StripAsciiWhitespace(comment);
    if (absl::StrContains(comment, "loop exit test") && !open.empty() && last_comparison) {
      open.back().marked_bound = last_comparison;
      open.back().branch_seen = true;
    }
    if (absl::ConsumePrefix(&comment, "exit bundle: %")) {
      const size_t end = comment.find_first_of(" =");
      result.kernel = std::string(comment.substr(0, end));
    }
    for (string_view part : absl::StrSplit(comment, " :: ")) {
      if (absl::ConsumePrefix(&part, "Start/End empty region ")) {
        EndRegion(part);
      } else if (at_loop_start && absl::ConsumePrefix(&part, "Start region ")) {
        open.back().regions.emplace_back(part);
      }
    }
    if (!described_transfer.has_value()) return;
    if (absl::ConsumePrefix(&comment, "base_bounds: ")) {
      window.base = Tuple(comment).value_or(std::vector<int64_t>());
    } else if (absl::ConsumePrefix(&comment, "window_bounds: ")) {
      window.window = Tuple(comment).value_or(std::vector<int64_t>());
    } else if (absl::ConsumePrefix(&comment, "element_size_in_bytes: ") && !window.window.empty()) {
      ScheduledTransfer& transfer = result.transfers[*described_transfer];
      transfer.window_bytes = LeadingInteger(comment).value_or(0) * window.Elements();
      transfer.contiguous_runs = window.ContiguousRuns();
      if (!open.empty()) {
        open.back().issued_rows = std::max(open.back().issued_rows, window.window.front());
      }
      described_transfer.reset();
    }
  }

  // Everything after the head: operations between ";;" and comments, which may go on in the next
  // line.
  void ReadRest(string_view text) {
    while (!text.empty()) {
      if (in_comment) {
        const size_t end = text.find("*/");
        ReadComment(text.substr(0, end));
        if (end == string_view::npos) return;
        in_comment = false;
        text.remove_prefix(end + 2);
        continue;
      }
      const size_t comment = text.find("/*");
      for (string_view operation : absl::StrSplit(text.substr(0, comment), ";;")) {
        ReadOperation(operation);
        if (absl::StrContains(operation, '}')) in_bundle = false;
      }
      if (comment == string_view::npos) return;
      in_comment = true;
      text.remove_prefix(comment + 2);
    }
  }

  std::optional<int64_t> last_comparison;

  absl::Status AddBundle(const BundleHead& head, string_view body) {
    if (head.address != last_address + 1) return Error("bundles are not numbered one by one");
    if (head.starts_loop && head.depth == 0) return Error("a loop body without a depth mark");
    last_address = head.address;
    FollowLoops(head);
    ++result.static_bundles;
    if (!regions.empty()) regions.back().cycles += 1;
    (open.empty() ? result.weighted_bundles : open.back().loop.body_bundles) += 1;
    in_bundle = true;
    at_loop_start = head.starts_loop;
    described_transfer.reset();
    last_comparison.reset();
    ReadRest(body.substr(1));
    return absl::OkStatus();
  }
};

BundleScheduleParser::BundleScheduleParser() : state_(std::make_unique<State>()) {}
BundleScheduleParser::~BundleScheduleParser() = default;

absl::Status BundleScheduleParser::AddLine(absl::string_view line) {
  State& s = *state_;
  ++s.line;
  if (s.in_comment || s.in_bundle) {
    s.ReadRest(line);
    return absl::OkStatus();
  }
  if (absl::StrContains(line, "control target key ")) {
    s.in_key = absl::StrContains(line, "key start");
    return absl::OkStatus();
  }
  if (s.in_key || absl::StripAsciiWhitespace(line).empty()) return absl::OkStatus();
  BundleHead head;
  if (!ConsumeHead(&line, &head)) return s.Error("neither a bundle nor a comment");
  return s.AddBundle(head, line);
}

absl::StatusOr<BundleSchedule> BundleScheduleParser::Finish() {
  State& s = *state_;
  if (s.result.static_bundles == 0) return s.Error("no bundles");
  if (s.in_comment) return s.Error("the file ends inside a comment");
  if (s.in_bundle) return s.Error("the file ends inside a bundle");
  while (!s.open.empty()) s.CloseInnermost();
  return std::move(s.result);
}

absl::StatusOr<BundleSchedule> ReadBundleSchedule(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot open ", path));
  BundleScheduleParser parser;
  std::string line;
  while (std::getline(file, line)) {
    absl::Status status = parser.AddLine(line);
    if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", status.message()));
  }
  return parser.Finish();
}

}  // namespace autotune
