#include "hardware/bundle_schedule.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace autotune {
namespace {

absl::StatusOr<BundleSchedule> Parse(const std::string& text) {
  BundleScheduleParser parser;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::Status status = parser.AddLine(line); !status.ok()) return status;
  }
  return parser.Finish();
}

// The shape of a schedule as libtpu 0.0.52 writes it: a pipelined loop of 343 trips that starts one
// transfer, skips what finishes the accumulator in most trips, and waits.
constexpr char kLoop[] = R"(= control target key start
LB: loop body
PF: predicated region fallthrough
= control target key end

     0   :  { %v1_v0 = vmov 0.0 /* materialized constant */  ;;  %s2_s0 = smov.u32 0 }
   0x1 LB: > { %s3_s1 = sadd.s32 1, %s2_s0  ;;  %p4_p0 = scmp.ge.s32.totalorder %s3_s1, 338 }
   0x2   : > { %5 = sbr.rel (%p4_p0) target = $region16 }
   0x3   : > { %6 = dma [#allocation5] /*
base_bounds: (26, 26, 4, 2)
window_bounds: (1, 2, 4, 1)
iteration_bounds: (26, 13, 1, 1)
element_size_in_bytes: 4096
second_minor_factor: 1 */  ;;  %7 = vnop } /* End region 101 */
   0x4 PF: > { %8 = vdelay 3 } /* Start/End empty region 16 :: Start region 21 */
   0x5   : > { %9 = sbr.rel (%p10_p1) target = $region24 }
   0x6   : > { %11 = vst [vmem:[#allocation0]] sm:$0x1 /*vst_source=*/%v1_v0 }
   0x7 PF: > { %12 = vnop } /* Start/End empty region 24 */
   0x8   : > { %p13_p2 = scmp.ge.s32.totalorder %s3_s1, 343 /* loop exit test */  ;;  %14 = vnop }
   0x9   : > { %15 = sbr.rel (!%p13_p2) target = $region90 }
   0xa   :  { %16 = vnop } /* exit bundle: %fusion.232 = fusion(%parameter.0) */
)";

TEST(BundleScheduleTest, WeighsBundlesByTripCounts) {
  const absl::StatusOr<BundleSchedule> schedule = Parse(kLoop);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_EQ(schedule->kernel, "fusion.232");
  EXPECT_EQ(schedule->static_bundles, 11);
  ASSERT_EQ(schedule->loops.size(), 1u);
  EXPECT_EQ(schedule->loops[0].trip_count, 343);
  EXPECT_EQ(schedule->MainTripCount(), 343);
  // Two bundles outside, nine in the loop, one of which waits for three cycles.
  EXPECT_DOUBLE_EQ(schedule->weighted_bundles, 2 + 9 * 343);
  EXPECT_DOUBLE_EQ(schedule->weighted_delays, 3 * 343);
}

TEST(BundleScheduleTest, DescribesTransfers) {
  const absl::StatusOr<BundleSchedule> schedule = Parse(kLoop);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  ASSERT_EQ(schedule->transfers.size(), 1u);
  EXPECT_EQ(schedule->transfers[0].window_bytes, 1 * 2 * 4 * 1 * 4096);
  // The last dimension is cut, so each of 1 x 2 x 4 tiles is a piece of its own.
  EXPECT_EQ(schedule->transfers[0].contiguous_runs, 8);
  EXPECT_DOUBLE_EQ(schedule->transfers[0].executions, 343);
}

TEST(BundleScheduleTest, TellsWhatABranchMaySkip) {
  const absl::StatusOr<BundleSchedule> schedule = Parse(kLoop);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  // The store of the accumulator and the landing; not the region that starts a transfer.
  EXPECT_DOUBLE_EQ(schedule->conditional_cycles, 2 * 343);
}

// Bundles of a loop that print with a smaller depth do not end it before its exit test.
TEST(BundleScheduleTest, SmallerDepthInsideALoopDoesNotEndIt) {
  const absl::StatusOr<BundleSchedule> schedule = Parse(R"(
     0   :  { %1 = vnop }
   0x1 LB: > { %s2_s1 = sadd.s32 1, %s1_s0 }
   0x2   :  { %3 = vnop }
   0x3   : > { %p4_p2 = scmp.ge.s32.totalorder %s2_s1, 10 /* loop exit test */ }
   0x4   : > { %5 = sbr.rel (!%p4_p2) target = $region9 }
   0x5   :  { %6 = vnop })");
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_DOUBLE_EQ(schedule->weighted_bundles, 2 + 4 * 10);
}

// libtpu fills the accumulator of a reduction in a loop that is left at "> N", where N counts
// elements; its branch back stands at a smaller depth. It used to swallow the rest of the outer
// loop, which took its trips for its own (fusion.3 of vqvae_train: 60 times too long).
TEST(BundleScheduleTest, AFillingLoopEndsBeforeTheRestOfItsOuterLoop) {
  const absl::StatusOr<BundleSchedule> schedule = Parse(R"(
     0   :  { %1 = vnop }
   0x1 LB: > { %s2_s1 = sadd.s32 1, %s1_s0 } /* Start region 90 :: Start region 10 */
   0x2   : > { %3 = sbr.rel (!%p9_p9) target = $region49 }
   0x3 LB: >> { %s4_s4 = sadd.s32 8, %s5_s4 } /* Start region 25 :: Start region 61 */
   0x4   : >> { %6 = vst [vmem:[%s2_s2]] ;;  %p7_p7 = scmp.gt.s32.totalorder %s4_s4, 24 } /* End region 61 */
   0x5   : > { %8 = sbr.rel (!%p7_p7) target = $region25 ;;  %9 = vnop }
   0x6   :  { %10 = vnop } /* End region 48 */
   0x7 PF: > { %11 = vnop } /* Start/End empty region 49 */
   0x8   : > { %p12_p2 = scmp.ge.s32.totalorder %s2_s1, 10 /* loop exit test */ }
   0x9   : > { %13 = sbr.rel (!%p12_p2) target = $region90 }
   0xa   :  { %14 = vnop })");
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  ASSERT_EQ(schedule->loops.size(), 2u);
  EXPECT_EQ(schedule->loops[0].trip_count, 4);  // 8, 16, 24 and 32
  EXPECT_DOUBLE_EQ(schedule->loops[0].body_bundles, 3);
  EXPECT_EQ(schedule->loops[1].trip_count, 10);
  EXPECT_DOUBLE_EQ(schedule->weighted_bundles, 2 + 10 * (2 + 4 * 3 + 4));
}

// A comparison that only skips a part of the body is no exit.
TEST(BundleScheduleTest, ABranchForwardIsNoWayBack) {
  const absl::StatusOr<BundleSchedule> schedule = Parse(R"(
   0 LB: > { %s2_s1 = sadd.s32 1, %s1_s0 } /* Start region 90 */
   0x1   : > { %p3_p3 = scmp.gt.s32.totalorder %s2_s1, 5 }
   0x2   : > { %4 = sbr.rel (!%p3_p3) target = $region12 }
   0x3   :  { %5 = vnop }
   0x4   : > { %p6_p2 = scmp.ge.s32.totalorder %s2_s1, 7 /* loop exit test */ } /* Start/End empty region 12 */
   0x5   : > { %7 = sbr.rel (!%p6_p2) target = $region90 }
   0x6   :  { %8 = vnop })");
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_DOUBLE_EQ(schedule->weighted_bundles, 1 + 6 * 7);
}

// An inner loop that transfers a window row by row, with a bound that is no constant, counts as
// many trips as the window has rows, and moves the window once.
TEST(BundleScheduleTest, RowLoopOfUnknownBound) {
  const absl::StatusOr<BundleSchedule> schedule = Parse(R"(
     0   :  { %1 = vnop }
   0x1 LB: > { %s2_s1 = sadd.s32 1, %s1_s0 }
   0x2 LB: >> { %s20_s2 = sadd.s32 1, %s21_s3 }
   0x3   : >> { %22 = dma [#allocation5] /*
base_bounds: (12, 12, 4, 2)
window_bounds: (3, 4, 4, 2)
element_size_in_bytes: 2048 */  ;;  %23 = vnop }
   0x4   : >> { %p24_p3 = scmp.ge.s32.totalorder %s20_s2, %s99_s9 }
   0x5   : >> { %25 = sbr.rel (!%p24_p3) target = $region30 }
   0x6   : > { %p4_p2 = scmp.ge.s32.totalorder %s2_s1, 10 /* loop exit test */ }
   0x7   : > { %5 = sbr.rel (!%p4_p2) target = $region9 }
   0x8   :  { %6 = vnop })");
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  ASSERT_EQ(schedule->loops.size(), 2u);
  EXPECT_FALSE(schedule->loops[0].trip_count.has_value());
  EXPECT_EQ(schedule->loops[0].assumed_trips, 3);
  EXPECT_DOUBLE_EQ(schedule->weighted_bundles, 2 + 10 * (3 + 3 * 4));
  ASSERT_EQ(schedule->transfers.size(), 1u);
  EXPECT_DOUBLE_EQ(schedule->transfers[0].executions, 10);
  EXPECT_EQ(schedule->transfers[0].contiguous_runs, 3);
}

TEST(BundleScheduleTest, UnknownFormatsAreErrors) {
  const char* const texts[] = {
      "",
      "nothing of the kind",
      "     0   :  { %1 = vnop }\n   0x2   :  { %2 = vnop }",    // a bundle is missing
      "     0   :  { %1 = vnop /* a comment that never ends",    // cut off in a comment
      "     0   :  { %1 = vnop",                                 // cut off in a bundle
      "     0   :  { %1 = vnop }\n   0x1 XYZ :  { %2 = vnop }",  // another kind of label
      "     0   :  { %1 = vnop }\nSchedule analysis:",           // another file behind it
      "     0 LB:  { %1 = vnop }",                               // a loop without a depth
      "     0   :  { %1 = vnop }\n   0xzz   :  { %2 = vnop }",
  };
  for (const char* text : texts) {
    EXPECT_EQ(Parse(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(BundleScheduleTest, CutAnywhereNeverCrashes) {
  const std::string text = kLoop;
  for (size_t size = 0; size < text.size(); ++size) (void)Parse(text.substr(0, size));
}

TEST(BundleScheduleTest, MissingFile) {
  EXPECT_EQ(ReadBundleSchedule("/nowhere/final_bundles.txt").status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace autotune
