#include "hardware/fusion_recording.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hardware/compiler_version.h"
#include "hardware/recording_forms.h"
#include "hlo/fingerprint.h"
#include "hlo/kernel_hash.h"
#include "hlo/read_file.h"
#include "nlohmann/json.hpp"

namespace autotune {
namespace {

using nlohmann::json;

constexpr char kFormat[] = "autotune-fusion-recording";
constexpr int kVersion = 1;

json TimesToJson(const FusionTimes& times) {
  return json::array({times.schedule, times.bundles, times.compiler});
}

// Throws what nlohmann/json throws on a wrong type; AddLine catches it.
FusionTimes TimesFromJson(const json& value) {
  return {value.at(0).get<double>(), value.at(1).get<double>(), value.at(2).get<double>()};
}

bool IsSortedSet(const std::vector<int64_t>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) == values.end() &&
         (values.empty() || values.front() >= 0);
}

// The first line of a recording.
absl::StatusOr<FusionOrigin> ReadHeader(absl::string_view text) try {
  const json line = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!line.is_object() || !line.contains("format") || line.at("format") != kFormat) {
    return absl::InvalidArgumentError(
        "this is no fusion recording; `autotune record --space fusion` makes one of a program");
  }
  if (const json& version = line.at("version"); version != kVersion) {
    return absl::InvalidArgumentError(absl::StrCat("a fusion recording of version ", version.dump(),
                                                   "; version ", kVersion, " is known"));
  }
  FusionOrigin origin;
  origin.program = line.at("program").get<std::string>();
  origin.fingerprint = std::stoull(line.at("fingerprint").get<std::string>(), nullptr, 16);
  origin.edges = line.at("edges").get<int64_t>();
  origin.device = line.at("device").get<std::string>();
  origin.versions = line.at("versions").get<std::string>();
  return origin;
} catch (const std::exception& error) {
  return absl::InvalidArgumentError(
      absl::StrCat("the first line of a fusion recording is damaged: ", error.what()));
}

FusionEntry EntryFromJson(const json& line) {
  FusionEntry entry;
  entry.decision.cuts = line.at("cuts").get<std::vector<int64_t>>();
  if (line.contains("failure")) {
    const auto kind = FailureKindFromName(line.at("failure").get<std::string>());
    entry.failure =
        Failure{kind.value_or(FailureKind::kCompileError), line.at("message").get<std::string>()};
    return entry;
  }
  entry.key = line.at("group").get<std::string>();
  entry.total = TimesFromJson(line.at("seconds"));
  entry.kernels = line.at("kernels").get<std::vector<int32_t>>();
  entry.compile_seconds = line.at("compile_seconds").get<double>();
  return entry;
}

absl::Status Append(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) {
    return absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(errno)));
  }
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) break;
    done += static_cast<size_t>(written);
  }
  const int error = errno;
  close(file);
  if (done == text.size()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(error)));
}

}  // namespace

bool operator<(const FusionRecordedKernel& a, const FusionRecordedKernel& b) {
  const auto tie = [](const FusionRecordedKernel& k) {
    return std::tie(k.nodes, k.executions, k.once.schedule, k.once.bundles, k.once.compiler);
  };
  return tie(a) < tie(b);
}

const FusionEntry* FusionRecording::Find(const FusionDecision& decision) const {
  const auto found = by_cuts_.find(decision.Key());
  return found == by_cuts_.end() ? nullptr : &entries_[found->second];
}

RealisedGrouping FusionRecording::GroupingOf(const FusionEntry& entry) const {
  RealisedGrouping grouping;
  for (int32_t index : entry.kernels) {
    const FusionRecordedKernel& kernel = kernels_[static_cast<size_t>(index)];
    grouping.kernels.push_back({absl::StrCat("kernel.", index), kernel.executions, kernel.nodes});
  }
  return grouping;
}

void FusionRecording::Add(const FusionDecision& decision,
                          const std::variant<FusionCompilation, Failure>& result) {
  if (!by_cuts_.emplace(decision.Key(), entries_.size()).second) return;
  FusionEntry entry;
  entry.decision = decision;
  if (const Failure* failure = std::get_if<Failure>(&result)) {
    entry.failure = *failure;
  } else {
    const FusionCompilation& compiled = std::get<FusionCompilation>(result);
    entry.key = compiled.key;
    entry.total = compiled.total;
    entry.compile_seconds = compiled.compile_seconds;
    for (const FusionKernel& kernel : compiled.kernels) {
      FusionRecordedKernel recorded{kernel.realised.nodes, kernel.realised.executions, kernel.once,
                                    kernel.fingerprint};
      const auto [found, is_new] =
          kernel_index_.emplace(recorded, static_cast<int32_t>(kernels_.size()));
      if (is_new) {
        kernels_.push_back(std::move(recorded));
        first_use_.push_back(entries_.size());
      }
      entry.kernels.push_back(found->second);
    }
  }
  entries_.push_back(std::move(entry));
}

std::string FusionRecording::HeaderLine() const {
  const json header = {{"format", kFormat},
                       {"version", kVersion},
                       {"program", origin_.program},
                       {"fingerprint", FingerprintText(origin_.fingerprint)},
                       {"edges", origin_.edges},
                       {"device", origin_.device},
                       {"versions", origin_.versions},
                       {"time_source", "estimate"}};
  return header.dump() + "\n";
}

std::string FusionRecording::EntryLines(size_t i) const {
  std::string lines;
  for (size_t k = 0; k < kernels_.size(); ++k) {
    if (first_use_[k] != i) continue;
    const FusionRecordedKernel& kernel = kernels_[k];
    json line = {{"kernel", k},
                 {"nodes", kernel.nodes},
                 {"executions", kernel.executions},
                 {"seconds", TimesToJson(kernel.once)}};
    if (kernel.fingerprint != 0) {
      line["fingerprint"] = FingerprintText(kernel.fingerprint);
    }
    lines += line.dump() + "\n";
  }
  const FusionEntry& entry = entries_[i];
  json line = {{"cuts", entry.decision.cuts}};
  if (entry.failure.has_value()) {
    line["failure"] = std::string(FailureKindName(entry.failure->kind));
    line["message"] = entry.failure->message;
  } else {
    line["group"] = entry.key;
    line["seconds"] = TimesToJson(entry.total);
    line["kernels"] = entry.kernels;
    line["compile_seconds"] = entry.compile_seconds;
  }
  return lines + line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string FusionRecording::Serialize() const {
  std::string text = HeaderLine();
  for (size_t i = 0; i < entries_.size(); ++i) text += EntryLines(i);
  return text;
}

void FusionRecording::DropUnusedKernels() {
  while (!first_use_.empty() && first_use_.back() == entries_.size()) {
    kernel_index_.erase(kernels_.back());
    kernels_.pop_back();
    first_use_.pop_back();
  }
}

absl::Status FusionRecording::AddLine(absl::string_view text) {
  try {
    const json line = json::parse(text.begin(), text.end());
    if (line.contains("kernel")) {
      FusionRecordedKernel kernel;
      kernel.nodes = line.at("nodes").get<std::vector<int32_t>>();
      kernel.executions = line.at("executions").get<int64_t>();
      kernel.once = TimesFromJson(line.at("seconds"));
      if (line.contains("fingerprint")) {
        kernel.fingerprint = std::stoull(line.at("fingerprint").get<std::string>(), nullptr, 16);
      }
      if (line.at("kernel").get<size_t>() != kernels_.size()) {
        return absl::InvalidArgumentError("kernels are not numbered in their order");
      }
      kernel_index_.emplace(kernel, static_cast<int32_t>(kernels_.size()));
      kernels_.push_back(std::move(kernel));
      first_use_.push_back(entries_.size());
      return absl::OkStatus();
    }
    FusionEntry entry = EntryFromJson(line);
    if (!IsSortedSet(entry.decision.cuts) ||
        (!entry.decision.cuts.empty() && entry.decision.cuts.back() >= origin_.edges)) {
      return absl::InvalidArgumentError("the cuts are not ascending numbers of edges");
    }
    for (int32_t kernel : entry.kernels) {
      if (kernel < 0 || static_cast<size_t>(kernel) >= kernels_.size()) {
        return absl::InvalidArgumentError("a kernel is named that was not described");
      }
    }
    if (by_cuts_.emplace(entry.decision.Key(), entries_.size()).second) {
      entries_.push_back(std::move(entry));
    }
    return absl::OkStatus();
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(error.what());
  }
}

absl::StatusOr<FusionRecording> FusionRecording::Parse(absl::string_view text,
                                                       const std::string& name, int64_t* cut_off) {
  std::optional<FusionRecording> recording;
  size_t whole = 0;  // behind the last line that ends an entry
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    ++number;
    const size_t end = text.find('\n', begin);
    if (end == absl::string_view::npos && cut_off != nullptr) break;
    const absl::string_view line = text.substr(begin, std::min(end, text.size()) - begin);
    absl::Status status = absl::OkStatus();
    if (recording.has_value()) {
      status = recording->AddLine(line);
    } else if (absl::StatusOr<FusionOrigin> origin = ReadHeader(line); origin.ok()) {
      recording.emplace(*std::move(origin));
    } else {
      status = origin.status();
    }
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(name, ":", number, ": ", status.message()));
    }
    begin = end == absl::string_view::npos ? text.size() : end + 1;
    if (recording->first_use_.empty() ||
        recording->first_use_.back() < recording->entries_.size()) {
      whole = begin;
    }
  }
  if (!recording.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": an empty fusion recording"));
  }
  recording->DropUnusedKernels();
  if (cut_off != nullptr) *cut_off = static_cast<int64_t>(whole);
  return *std::move(recording);
}

absl::StatusOr<FusionRecording> FusionRecording::Load(const std::string& path, int64_t* cut_off) {
  absl::StatusOr<std::string> bytes = ReadWholeFile(path);
  if (!bytes.ok()) return bytes.status();
  if (!absl::StartsWith(*bytes, "\x1f\x8b")) return Parse(*bytes, path, cut_off);
  absl::StatusOr<std::string> text = Gunzip(*bytes, path);
  if (!text.ok()) return text.status();
  return Parse(*text, path, cut_off);
}

uint64_t FusionFingerprint(const FusionGraph& graph) {
  const KernelHasher hasher(graph.module());
  Fingerprinter fingerprint;
  for (const FusionNode& node : graph.nodes()) {
    fingerprint.AddInt(hasher.Operation(*node.instruction));
  }
  for (const FusionEdge& edge : graph.edges()) {
    fingerprint.AddInt(static_cast<uint64_t>(edge.producer));
    fingerprint.AddInt(static_cast<uint64_t>(edge.consumer));
  }
  return fingerprint.Get();
}

absl::Status RecordFusions(FusionCompiler& compiler, const FusionGraph& graph,
                           const std::string& program_name,
                           const std::vector<FusionDecision>& decisions, const std::string& path,
                           const std::function<bool(const FusionRecording&)>& proceed) {
  FusionOrigin origin{program_name, FusionFingerprint(graph), graph.edge_count(),
                      compiler.device().name, ""};
  std::optional<FusionRecording> recording;
  int64_t kept = 0;
  if (absl::StatusOr<FusionRecording> loaded = FusionRecording::Load(path, &kept); loaded.ok()) {
    recording = *std::move(loaded);
    std::error_code error;
    std::filesystem::resize_file(path, static_cast<uint64_t>(kept), error);
    if (error) return absl::UnavailableError(absl::StrCat(path, ": ", error.message()));
    origin.versions = recording->origin().versions;
    origin.program = recording->origin().program;  // the fingerprint tells
    if (recording->origin() != origin) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, " records another program or device"));
    }
    if (const FusionEntry* base = recording->Find({});
        base != nullptr && base->failure.has_value()) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, " holds a program that did not compile as it is (",
                       base->failure->message, "); remove it to try again"));
    }
    for (const FusionRecordedKernel& kernel : recording->kernels()) {
      if (kernel.fingerprint == 0) continue;
      compiler.Know(kernel.fingerprint, kernel.once);
    }
  } else if (!absl::IsNotFound(loaded.status())) {
    return loaded.status();
  }
  for (const FusionDecision& decision : decisions) {
    if (recording.has_value() && recording->Find(decision) != nullptr) continue;
    if (recording.has_value() && !proceed(*recording)) return absl::OkStatus();
    absl::StatusOr<std::variant<FusionCompilation, Failure>> result =
        compiler.Compile(graph, decision);
    if (!result.ok()) return result.status();
    // Nothing can be compared without the default, and another call may have more time for it.
    if (const Failure* failure = std::get_if<Failure>(&*result);
        failure != nullptr && decision.cuts.empty()) {
      return absl::FailedPreconditionError(absl::StrCat("the program does not compile as it is (",
                                                        std::string(FailureKindName(failure->kind)),
                                                        "): ", failure->message));
    }
    if (recording.has_value() && !compiler.version().empty() &&
        !MayBeSameCompiler(compiler.version(), origin.versions)) {
      return absl::FailedPreconditionError(absl::StrCat(
          path, " records the compiler ", origin.versions, "; this one is ", compiler.version()));
    }
    if (!recording.has_value()) {
      origin.versions = compiler.version();
      recording.emplace(origin);
      if (absl::Status status = Append(path, recording->HeaderLine()); !status.ok()) return status;
    }
    recording->Add(decision, *result);
    absl::Status status = Append(path, recording->EntryLines(recording->entries().size() - 1));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace autotune
