#include "tuner/html_evaluation.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tuner/html_charts.h"

namespace autotune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

nlohmann::json ChartsOf(const std::string& html) {
  const std::string begin = "id=\"report-data\">";
  const size_t from = html.find(begin) + begin.size();
  return nlohmann::json::parse(html.substr(from, html.find("</script>", from) - from))["charts"];
}

// A kernel whose predictions are the measured times to the power of `skill`.
ScoredKernel ScoredKernelOf(const std::string& name, int configs, double skill) {
  ScoredKernel kernel;
  kernel.info = {.program = "net", .kernel = name, .device = "tpu-v3", .configs = configs};
  for (int i = 0; i < configs; ++i) {
    kernel.seconds.push_back(1e-6 * (1 + (i * 7) % configs));
    kernel.log_seconds.push_back(skill * std::log(kernel.seconds.back()));
  }
  return kernel;
}

EvaluationReport Sample(const std::string& name) {
  EvaluationReport report;
  report.files = {"net.rec"};
  report.bootstrap = 50;
  EvaluatedModel& model = report.models.emplace_back();
  model.name = name;
  for (int i = 0; i < 3; ++i) {
    model.learned.push_back(ScoredKernelOf(absl::StrCat("fusion.", i), 10 + i, 1));
    model.analytical.push_back(ScoredKernelOf(absl::StrCat("fusion.", i), 10 + i, -1));
  }
  return report;
}

TEST(HtmlEvaluationTest, ShowsAccuracyAndPredictionsOfEveryModel) {
  const std::string html = RenderHtml(Sample("model/seed1"));
  for (const char* part : {"Evaluation of cost models", "tpu-v3 · 1 recording", "model/seed1",
                           "analytical, beside model/seed1", "Kendall tau", "net tpu-v3",
                           "50 bootstrap samples", "net.rec"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
  const nlohmann::json charts = ChartsOf(html);
  ASSERT_EQ(charts.size(), 4u);  // two metrics; predictions of both models
  EXPECT_EQ(charts[0]["kind"], "range");
  EXPECT_EQ(charts[0]["ranges"][0][1], 1) << "the learned one is perfect";
  EXPECT_EQ(charts[0]["ranges"][1][1], -1) << "the other one always wrong";
  EXPECT_EQ(charts[0]["value"]["min"], -1);
  EXPECT_EQ(charts[2]["series"][0]["points"].size(), 10u + 11 + 12);
}

// Such a chart has no series, and the height was computed from whatever lay behind the last member.
TEST(HtmlEvaluationTest, AChartOfRangesHasOneBarForEachCategory) {
  nlohmann::json spec = {{"kind", "range"}, {"categories", std::vector<std::string>(10, "m")}};
  EXPECT_EQ(BarChartHeight(spec), 110 + 22 * 10);
  spec["series"] = std::vector<int>(3);
  EXPECT_EQ(BarChartHeight(spec), 110 + 22 * 30);
}

TEST(HtmlEvaluationTest, ALargeDataSetMakesASmallPage) {
  EvaluationReport report = Sample("m");
  report.bootstrap = 0;
  report.models[0].learned = report.models[0].analytical = {ScoredKernelOf("large", 7000, 1)};
  const std::string html = RenderHtml(report);
  EXPECT_LE(ChartsOf(html)[2]["series"][0]["points"].size(), 3000u);
  EXPECT_LT(html.size(), 1'000'000u);
}

TEST(HtmlEvaluationTest, HostileNamesStayNames) {
  const std::string evil = "\"><img src=x onerror=alert(1)></script><script>alert(2)</script>";
  EvaluationReport report = Sample(evil);
  report.files = {evil};
  for (ScoredKernel& kernel : report.models[0].learned) kernel.info.kernel = evil;
  const std::string html = RenderHtml(report);
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
}

}  // namespace
}  // namespace autotune
