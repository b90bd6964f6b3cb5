#include "tuner/report_reader.h"

#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tuner/sample_report.h"
#include "tuner/printable.h"
#include "tuner/report_render.h"

namespace autotune {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::string TextOf(const TuningReport& report) { return DumpJson(RenderJson(report)); }

TEST(ParseReportTest, IsTheInverseOfRenderJson) {
  TuningReport report = SampleReport(300);
  report.budget_seconds = 12.5;
  report.outcome = RunOutcome::kFailed;
  report.error = "the store broke";
  report.candidates[3].predictions[0].score = std::numeric_limits<double>::infinity();
  const absl::StatusOr<TuningReport> read = ParseReport(TextOf(report), "report.json");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(TextOf(*read), TextOf(report));
  EXPECT_EQ(read->candidates[3].predictions[0].score, std::numeric_limits<double>::infinity());
}

TEST(ParseReportTest, AnEmptyRunIsReadToo) {
  const absl::StatusOr<TuningReport> read = ParseReport(TextOf(TuningReport()), "report.json");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(TextOf(*read), TextOf(TuningReport()));
}

TEST(ParseReportTest, ReadsDocumentsOfTheFirstRelease) {
  json document = RenderJson(SampleReport(20));
  document.erase("models");
  document.erase("speedup_interval");
  const absl::StatusOr<TuningReport> read = ParseReport(document.dump(), "report.json");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->models.empty());
}

TEST(ParseReportTest, SaysWhatIsWrong) {
  auto error = [](const std::string& text) {
    const absl::StatusOr<TuningReport> read = ParseReport(text, "r.json");
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(read.status().message());
  };
  EXPECT_THAT(error("{"), HasSubstr("r.json is not JSON, or cut off"));
  EXPECT_THAT(error("[]"), HasSubstr("not a file of schema autotune.tune/1"));
  EXPECT_THAT(error(R"({"schema": "autotune.tune/2"})"), HasSubstr("schema autotune.tune/1"));
  EXPECT_THAT(error(R"({"schema": "autotune.tune/1"})"), HasSubstr("\"run\" is missing"));
  json document = RenderJson(SampleReport(20));
  auto changed = [&](const char* pointer, const json& value) {
    json copy = document;
    copy[json::json_pointer(pointer)] = value;
    return error(copy.dump());
  };
  EXPECT_THAT(changed("/run/seed", "x"), HasSubstr("\"seed\" is of the wrong type"));
  EXPECT_THAT(changed("/run/outcome", "well"), HasSubstr("\"outcome\" cannot be \"well\""));
  EXPECT_THAT(changed("/candidates/2/kernel", 99), HasSubstr("\"kernel\" names none"));
  EXPECT_THAT(changed("/candidates/2/kernel", -1), HasSubstr("\"kernel\" names none"));
  EXPECT_THAT(changed("/candidates/2/result/samples", json::array()), HasSubstr("samples"));
  EXPECT_THAT(changed("/candidates/2/result/samples/0", -1.0), HasSubstr("positive"));
  EXPECT_THAT(changed("/kernels/0/fingerprint", "xyz"), HasSubstr("fingerprint"));
  EXPECT_THAT(changed("/kernels", 7), HasSubstr("\"kernels\" is no list"));
  EXPECT_THAT(changed("/kernels/0", 7), HasSubstr("missing"));
}

}  // namespace
}  // namespace autotune
