#include "hardware/device_profile.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "proto/device_profile.pb.h"

namespace autotune {
namespace {

constexpr double kSecondsPerPicosecond = 1e-12;

// "fusion.3" of "%fusion.3 = f32[8]{0} fusion(...)", or of itself.
std::string OperationName(const proto::DeviceProfileEventName& event) {
  absl::string_view name = event.display_name().empty() ? event.name() : event.display_name();
  name = name.substr(0, name.find(" = "));
  absl::ConsumePrefix(&name, "%");
  return std::string(name);
}

std::vector<DeviceProfile::Timed> ReadLine(const proto::DeviceProfilePlane& plane,
                                           const proto::DeviceProfileLine& line) {
  std::vector<const proto::DeviceProfileEvent*> events;
  for (const proto::DeviceProfileEvent& event : line.events()) events.push_back(&event);
  std::stable_sort(events.begin(), events.end(),
                   [](const auto* a, const auto* b) { return a->offset_ps() < b->offset_ps(); });
  std::vector<DeviceProfile::Timed> timed;
  std::map<std::string, size_t> place;
  for (const proto::DeviceProfileEvent* event : events) {
    const auto known = plane.event_metadata().find(event->metadata_id());
    if (known == plane.event_metadata().end()) continue;
    std::string name = OperationName(known->second);
    const auto [at, is_new] = place.emplace(name, timed.size());
    if (is_new) timed.push_back({std::move(name), {}});
    timed[at->second].seconds.push_back(static_cast<double>(event->duration_ps()) *
                                        kSecondsPerPicosecond);
  }
  return timed;
}

bool HasName(const proto::DeviceProfileLine& line, absl::string_view name) {
  return line.name() == name || line.display_name() == name;
}

// The instructions of the entry computation that run on the device.
std::vector<const HloInstruction*> Operations(const HloModule& module) {
  std::vector<const HloInstruction*> operations;
  for (const HloInstruction* instruction : module.entry_computation().instructions()) {
    switch (instruction->opcode()) {
      case HloOpcode::kParameter:
      case HloOpcode::kConstant:
      case HloOpcode::kTuple:
      case HloOpcode::kGetTupleElement:
      case HloOpcode::kBitcast:
        break;
      default:
        operations.push_back(instruction);
    }
  }
  return operations;
}

}  // namespace

const DeviceProfile::Timed* DeviceProfile::FindOperation(absl::string_view name) const {
  const auto found = std::find_if(operations.begin(), operations.end(),
                                  [&](const Timed& timed) { return timed.name == name; });
  return found == operations.end() ? nullptr : &*found;
}

absl::StatusOr<DeviceProfile> ReadDeviceProfile(const std::string& bytes) {
  proto::DeviceProfileSpace space;
  // libtpu ends the message with one zero that is no part of it.
  const bool read =
      space.ParseFromString(bytes) || (!bytes.empty() && bytes.back() == '\0' &&
                                       space.ParseFromString(bytes.substr(0, bytes.size() - 1)));
  if (!read) return absl::DataLossError("the plugin's profile cannot be read");
  for (const proto::DeviceProfilePlane& plane : space.planes()) {
    if (!absl::StartsWith(plane.name(), "/device:")) continue;
    DeviceProfile profile;
    for (const proto::DeviceProfileLine& line : plane.lines()) {
      if (HasName(line, "XLA Ops")) profile.operations = ReadLine(plane, line);
      if (HasName(line, "XLA Modules")) profile.programs = ReadLine(plane, line);
    }
    if (!profile.operations.empty()) return profile;
  }
  return absl::NotFoundError(
      absl::StrCat("the plugin's profile holds no operation of a device",
                   space.errors().empty() ? "" : absl::StrCat(": ", space.errors(0))));
}

absl::StatusOr<std::vector<double>> RunSeconds(const DeviceProfile& profile,
                                               const HloModule& compiled, int runs) {
  const std::vector<const HloInstruction*> operations = Operations(compiled);
  std::vector<double> seconds;
  if (operations.size() == 1) {
    const DeviceProfile::Timed* timed = profile.FindOperation(operations.front()->name());
    if (timed != nullptr) seconds = timed->seconds;
  } else if (profile.programs.size() == 1) {
    seconds = profile.programs.front().seconds;
  }
  if (seconds.size() != static_cast<size_t>(runs)) {
    return absl::DataLossError(
        absl::StrCat("the profile holds ", seconds.size(), " of ", runs, " runs"));
  }
  for (double one : seconds) {
    if (!(one > 0)) return absl::DataLossError("the profile holds a time that is not positive");
  }
  return seconds;
}

}  // namespace autotune
