#include "hardware/device_profile.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "hlo/parser.h"
#include "proto/device_profile.pb.h"

namespace autotune {
namespace {

void AddEvent(int64_t name, int64_t offset_ps, int64_t duration_ps,
              proto::DeviceProfileLine* line) {
  proto::DeviceProfileEvent& event = *line->add_events();
  event.set_metadata_id(name);
  event.set_offset_ps(offset_ps);
  event.set_duration_ps(duration_ps);
}

// Two runs of a program of two operations.
proto::DeviceProfileSpace TwoRuns() {
  proto::DeviceProfileSpace space;
  space.add_planes()->set_name("/host:CPU");
  proto::DeviceProfilePlane& plane = *space.add_planes();
  plane.set_name("/device:TPU:0");
  (*plane.mutable_event_metadata())[1].set_name("%fusion.3 = f32[8]{0:T(128)} fusion(%p)");
  (*plane.mutable_event_metadata())[2].set_name("%copy.1 = f32[8]{0} copy(%fusion.3)");
  (*plane.mutable_event_metadata())[2].set_display_name("copy.1");
  (*plane.mutable_event_metadata())[3].set_name("jit_step(123)");
  proto::DeviceProfileLine& modules = *plane.add_lines();
  modules.set_name("XLA Modules");
  AddEvent(3, 0, 10'000'000, &modules);
  AddEvent(3, 50'000'000, 11'000'000, &modules);
  proto::DeviceProfileLine& operations = *plane.add_lines();
  operations.set_name("line");
  operations.set_display_name("XLA Ops");
  AddEvent(1, 50'000'000, 7'500'000, &operations);  // not in the order of time
  AddEvent(1, 0, 7'000'000, &operations);
  AddEvent(2, 7'000'000, 3'000'000, &operations);
  AddEvent(2, 57'500'000, 3'500'000, &operations);
  AddEvent(9, 57'500'000, 3'500'000, &operations);  // without a name
  return space;
}

std::unique_ptr<HloModule> Parse(const std::string& text) {
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

constexpr char kOne[] = R"(HloModule one
ENTRY main {
  p = f32[8] parameter(0)
  ROOT fusion.3 = f32[8] negate(p)
}
)";

constexpr char kTwo[] = R"(HloModule two
ENTRY main {
  p = f32[8] parameter(0)
  fusion.3 = f32[8] negate(p)
  ROOT copy.1 = f32[8] copy(fusion.3)
}
)";

TEST(DeviceProfile, OperationsInTheOrderOfTime) {
  const absl::StatusOr<DeviceProfile> profile = ReadDeviceProfile(TwoRuns().SerializeAsString());
  ASSERT_TRUE(profile.ok()) << profile.status();
  ASSERT_EQ(profile->operations.size(), 2u);
  EXPECT_EQ(profile->operations[0].name, "fusion.3");
  ASSERT_EQ(profile->operations[0].seconds.size(), 2u);
  EXPECT_DOUBLE_EQ(profile->operations[0].seconds[0], 7e-6);
  EXPECT_DOUBLE_EQ(profile->operations[0].seconds[1], 7.5e-6);
  EXPECT_EQ(profile->operations[1].name, "copy.1");
  ASSERT_NE(profile->FindOperation("copy.1"), nullptr);
  EXPECT_EQ(profile->FindOperation("copy.2"), nullptr);
}

TEST(DeviceProfile, ARunIsTheOnlyOperationOrTheWholeProgram) {
  const absl::StatusOr<DeviceProfile> profile = ReadDeviceProfile(TwoRuns().SerializeAsString());
  ASSERT_TRUE(profile.ok()) << profile.status();
  const auto one = RunSeconds(*profile, *Parse(kOne), 2);
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_DOUBLE_EQ(one->at(0), 7e-6);
  const auto two = RunSeconds(*profile, *Parse(kTwo), 2);
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_DOUBLE_EQ(two->at(0), 1e-5);
  EXPECT_DOUBLE_EQ(two->at(1), 1.1e-5);
  EXPECT_EQ(RunSeconds(*profile, *Parse(kTwo), 3).status().code(), absl::StatusCode::kDataLoss);
}

TEST(DeviceProfile, ATimeOfZeroIsNone) {
  proto::DeviceProfileSpace space = TwoRuns();
  space.mutable_planes(1)->mutable_lines(1)->mutable_events(0)->set_duration_ps(0);
  const absl::StatusOr<DeviceProfile> profile = ReadDeviceProfile(space.SerializeAsString());
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(RunSeconds(*profile, *Parse(kOne), 2).status().code(), absl::StatusCode::kDataLoss);
}

TEST(DeviceProfile, WhatCannotBeReadAndWhatHoldsNothing) {
  const std::string bytes = TwoRuns().SerializeAsString();
  EXPECT_TRUE(ReadDeviceProfile(bytes + '\0').ok());  // as libtpu ends it
  EXPECT_EQ(ReadDeviceProfile(bytes.substr(0, bytes.size() / 2)).status().code(),
            absl::StatusCode::kDataLoss);
  proto::DeviceProfileSpace host;
  host.add_planes()->set_name("/host:CPU");
  host.add_errors("no permission");
  const absl::Status status = ReadDeviceProfile(host.SerializeAsString()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("no permission"), std::string::npos);
  EXPECT_EQ(ReadDeviceProfile("").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace autotune
