#include "tuner/html_report.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tuner/sample_report.h"
#include "tuner/html_charts.h"
#include "tuner/html_page.h"

namespace autotune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The data that a document carries for its script.
nlohmann::json DataOf(const std::string& html) {
  const std::string begin = "id=\"report-data\">";
  const size_t from = html.find(begin) + begin.size();
  return nlohmann::json::parse(html.substr(from, html.find("</script>", from) - from));
}

// A made-up comparison of three methods on two kernels.
ComparisonReport SampleComparison() {
  ComparisonReport report;
  report.autotune_version = "0.1.0";
  report.program = "examples/alexnet/program.hlo";
  report.recordings = {"tpu_v3.pb"};
  report.device = "tpu-v3";
  report.methods = {"default", "random", "annealing+analytical"};
  report.seeds = 100;
  report.first_seed = 1;
  report.compile_seconds = 1;
  report.repeats = 10;
  auto method = [](const std::string& name, double speed) {
    MethodResult result = {.method = name, .runs = 100};
    result.evaluations_to_within = {{5, 100, 100, 288 / speed, 520 / speed, 60 / speed},
                                    {1, 100, 97, 400 / speed, std::nullopt, 90 / speed}};
    result.seconds_to_within = result.evaluations_to_within;
    for (double n : {1, 5, 10, 20, 50}) {
      const double slowdown = 1 + 4 / (n * speed);
      result.slowdown_after_evaluations.push_back({n, slowdown, slowdown, slowdown, slowdown});
    }
    result.slowdown_after_seconds = result.slowdown_after_evaluations;
    for (double n = 1; n < 500; n = std::ceil(n * 1.15)) {
      const double slowdown = 1 + 4 / (n * speed);
      result.evaluation_curve.push_back({n, 1 + (slowdown - 1) / 2, slowdown, 2 * slowdown, 1.0});
    }
    result.clock_curve = result.evaluation_curve;
    return result;
  };
  KernelComparison kernel = {.name = "fusion.191", .kind = "convolution fusion", .configs = 581};
  kernel.failures = 2;
  kernel.best_seconds = 137e-6;
  kernel.default_seconds = 151e-6;
  kernel.methods = {method("default", 0.5), method("random", 1),
                    method("annealing+analytical", 60)};
  ModelAccuracy model = {.model = "analytical", .predicts_seconds = true, .kendall_tau = 0.86};
  model.top_k = {{1, 0.13}, {5, 0}, {10, 0}};
  model.chosen_seconds = 150e-6;
  model.chosen_config = "k=3,1,24,3;o=12,4,4,3";
  Rng rng(3);
  for (int i = 0; i < 579; ++i) {
    const double seconds = 137e-6 * std::exp(2 * UniformReal(rng));
    model.points.push_back(
        {absl::StrCat("o=", i), std::log(seconds) + 0.4 * (UniformReal(rng) - 0.5), seconds});
  }
  kernel.models = {model};
  KernelComparison opaque = {.name = "reshape.37", .kind = "reshape", .opaque = true, .configs = 3};
  opaque.best_seconds = 238e-6;
  opaque.methods = {method("default", 1), method("random", 1), {.method = "annealing+analytical"}};
  report.kernels = {kernel, opaque};
  report.overall = kernel.methods;
  report.models = {{"analytical", 1, 0.86, model.top_k, 9.5}};
  report.warnings = {"reshape.37 is opaque"};
  return report;
}

TEST(EscapeHtmlTest, LeavesNothingThatABrowserReads) {
  EXPECT_EQ(EscapeHtml("<a href=\"x\" id='y'>&"),
            "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;");
  EXPECT_EQ(EscapeHtml(absl::string_view("a\0b", 3)), "a\\x00b");
}

TEST(JsonForScriptTest, CannotLeaveItsElement) {
  const nlohmann::json json = {{"name", "</script><script>alert(1)</script>&\u2028"},
                               {"bad", "\xff\xfe"}};
  const std::string text = JsonForScript(json);
  EXPECT_THAT(text, Not(HasSubstr("<")));
  EXPECT_THAT(text, Not(HasSubstr("&")));
  EXPECT_EQ(nlohmann::json::parse(text)["name"], json["name"]);
}

TEST(RoundedTest, KeepsSixDigits) {
  EXPECT_EQ(Rounded(1.23456789e-5), 1.23457e-5);
  EXPECT_EQ(Rounded(0), 0);
}

// Names come from programs of strangers.
TEST(RenderHtmlTest, HostileNamesStayNames) {
  const std::string evil = "\"><img src=x onerror=alert(1)></script><script>alert(2)</script>";
  TuningReport report = SampleReport(50);
  report.program_name = report.program = report.host = evil;
  report.warnings = {evil};
  report.commands.apply = report.commands.reproduce = evil;
  report.kernels[0].name = report.kernels[0].kind = evil;
  report.kernels[0].not_tuned = evil;
  for (KernelReport& kernel : report.kernels) {
    for (FailureCount& failure : kernel.failures) failure.first_message = evil;
  }
  const std::string html = RenderHtml(report);
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_EQ(DataOf(html)["candidates"]["kernels"][0], evil);

  ComparisonReport comparison = SampleComparison();
  comparison.program = comparison.methods[0] = comparison.kernels[0].name = evil;
  comparison.kernels[0].methods[1].method = comparison.kernels[0].models[0].chosen_config = evil;
  comparison.overall[0].method = evil;
  EXPECT_THAT(RenderHtml(comparison), Not(HasSubstr("<img")));
  EXPECT_THAT(RenderHtml(comparison), Not(HasSubstr("<script>alert")));
}

TEST(RenderHtmlTest, HoldsWhatAReaderLooksFor) {
  const std::string html = RenderHtml(SampleReport(200));
  for (const char* part :
       {"HARDWARE RECORDING", "Tuning of jit_train_step", "Measurements spent",
        "Against the best known", "Against the analytical model&#39;s choice",
        "with 95 % confidence", "Best so far by measurements",
        "Every measurement against its kernel&#39;s default", "Time per kernel, before and after",
        "Kendall tau", "top-5 error", "scoped vmem limit", "Measurements per kernel",
        "Candidates per kernel", "Environment", ">42<",
        "autotune apply program.hlo --config best.json", "not in the recording", ">opaque<"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
  EXPECT_THAT(html, Not(HasSubstr("ESTIMATE")));
}

TEST(RenderHtmlTest, AnEstimateLooksLikeOne) {
  TuningReport report = SampleReport(20);
  report.time_source = TimeSource::kEstimate;
  report.backend = "aot";
  const std::string html = RenderHtml(report);
  EXPECT_THAT(html, HasSubstr("class=\"source estimate\"><b>ESTIMATE</b>"));
  EXPECT_THAT(html, Not(HasSubstr("HARDWARE")));
}

TEST(RenderHtmlTest, NeedsNoNetworkAndNoOtherFile) {
  for (const std::string& html : {RenderHtml(SampleReport(20)), RenderHtml(SampleComparison())}) {
    EXPECT_FALSE(std::regex_search(html, std::regex("(src|href)=\"(?!data:,|#s)")));
    EXPECT_THAT(html, Not(HasSubstr("@import")));
    EXPECT_THAT(html, HasSubstr("default-src 'none'"));
    EXPECT_THAT(html, HasSubstr("Chart.js v3.9"));
  }
}

TEST(RenderHtmlTest, AnEmptyRunIsStillADocument) {
  TuningReport report;
  report.outcome = RunOutcome::kNothingMeasured;
  EXPECT_THAT(RenderHtml(report), HasSubstr("No kernel got a time."));
  EXPECT_THAT(RenderHtml(ComparisonReport()), HasSubstr("</html>"));
}

TEST(RenderHtmlTest, TenThousandCandidatesAreUnderFiveMegabytes) {
  const std::string html = RenderHtml(SampleReport(10'000));
  EXPECT_EQ(DataOf(html)["candidates"]["rows"].size(), 10'000u);
  EXPECT_LT(html.size(), 5'000'000u);
}

TEST(RooflineChartTest, ProductsOfIntegersHaveARoofOfTheirOwn) {
  TuningReport report = SampleReport(20);
  report.device = "tpu-v5e";
  auto chart = RooflineChart(report);
  ASSERT_TRUE(chart.has_value());
  EXPECT_THAT(chart->dump(), Not(HasSubstr("int8")));
  // Arithmetic on what lies in VMEM has no roofline, and products are not all that counts as FLOPs.
  report.kernels[1].cost = KernelCost{1e3, 0, 1, 0};
  ASSERT_TRUE((chart = RooflineChart(report)).has_value());
  EXPECT_THAT(chart->dump(), Not(HasSubstr("int8")));
  // 197 TFLOP/s in bfloat16 and twice as many operations on int8: a kernel between the two.
  ASSERT_TRUE(report.kernels[0].best.has_value());
  const double seconds = report.kernels[0].best->measurement.MedianSeconds();
  report.kernels[0].cost = KernelCost{300e12 * seconds, 0, 1e6, seconds};
  chart = RooflineChart(report);
  ASSERT_TRUE(chart.has_value());
  const auto& roof = (*chart)["series"][1];
  EXPECT_EQ(roof["name"], "the same for products of int8");
  EXPECT_EQ(roof["points"].back()[1], 394e12);
}

TEST(ProgressChartTest, KeepsOnlyTheBends) {
  TuningReport report = SampleReport(10'000);
  const auto chart = ProgressChart(report, ProgressAxis::kMeasurements);
  ASSERT_TRUE(chart.has_value());
  const nlohmann::json& points = (*chart)["series"].back()["points"];
  EXPECT_LT(points.size(), 500u);
  EXPECT_GT(points.size(), 5u);
  for (size_t i = 1; i < points.size(); ++i) EXPECT_LE(points[i][1], points[i - 1][1]);
}

// ---- In a browser
// --------------------------------------------------------------------------------

class BrowserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v chromium >/dev/null 2>&1") != 0) {
      GTEST_SKIP() << "Debian's package chromium is not installed";
    }
    folder_ = std::filesystem::temp_directory_path() /
              ("autotune-html-" + std::to_string(::getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  // Opens the document in headless Chromium with probes around it, and returns what they saw:
  // {"problems": [...], "charts": N, "canvases": N, "blank": [ids], "rows": N, "overflow": pixels}.
  nlohmann::json Open(std::string html, int width) {
    static constexpr char kBefore[] =
        "<head><script>window.problems=[];"
        "window.onerror=(m,s,l)=>{problems.push(m+' line '+l)};"
        "for(const k of ['error','warn']){console[k]=(...a)=>problems.push(k+': '+a.join(' '))};"
        "document.addEventListener('securitypolicyviolation',e=>problems.push('policy: '+"
        "e.violatedDirective));</script>";
    static constexpr char kAfter[] =
        "<script>window.addEventListener('load',()=>{"
        "const canvases=[...document.querySelectorAll('canvas')];"
        "const painted=c=>{const d=c.getContext('2d').getImageData(0,0,c.width,c.height).data;"
        "const colors=new Set();for(let i=0;i<d.length;i+=4)if(d[i+3]>60)"
        "colors.add((d[i]<<16)|(d[i+1]<<8)|d[i+2]);return colors.size};"
        "document.body.dataset.probe=JSON.stringify({problems,"
        "charts:Number(document.body.dataset.charts),canvases:canvases.length,"
        "blank:canvases.filter(c=>painted(c)<3).map(c=>c.id),"
        "rows:document.querySelectorAll('#candidates tbody tr').length,"
        "overflow:document.documentElement.scrollWidth-window.innerWidth})});</script></body>";
    html.replace(html.find("<head>"), 6, kBefore);
    html.replace(html.rfind("</body>"), 7, kAfter);
    const std::filesystem::path page = folder_ / "page.html", dom = folder_ / "dom.html";
    std::ofstream(page) << html;
    const std::string command =
        "timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage "
        "--hide-scrollbars --user-data-dir='" +
        (folder_ / "profile").string() + "' --window-size=" + std::to_string(width) +
        ",900 --virtual-time-budget=5000 --dump-dom 'file://" + page.string() + "' >'" +
        dom.string() + "' 2>'" + (folder_ / "log").string() + "'";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::stringstream text;
    text << std::ifstream(dom).rdbuf();
    return ProbeOf(text.str());
  }

  static nlohmann::json ProbeOf(const std::string& dom) {
    const std::string begin = "data-probe=\"";
    const size_t at = dom.find(begin);
    if (at == std::string::npos) return {{"problems", {"the page did not finish loading"}}};
    std::string json = dom.substr(at + begin.size());
    json = json.substr(0, json.find('"'));
    json = std::regex_replace(json, std::regex("&quot;"), "\"");
    json = std::regex_replace(json, std::regex("&amp;"), "&");
    return nlohmann::json::parse(json);
  }

  // Every chart draws something of at least three colours, and nothing goes wrong.
  void ExpectGood(const std::string& html, int width, int at_least) {
    const nlohmann::json probe = Open(html, width);
    EXPECT_EQ(probe["problems"], nlohmann::json::array()) << width;
    EXPECT_EQ(probe["charts"], probe["canvases"]) << width;
    EXPECT_GE(probe["charts"], at_least) << width;
    EXPECT_EQ(probe["blank"], nlohmann::json::array()) << width;
    EXPECT_LE(probe["overflow"], 0) << width << ": the page is wider than the window";
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(BrowserTest, EveryChartOfARunDrawsOnAScreenAndOnAPhone) {
  const std::string html = RenderHtml(SampleReport(300));
  ExpectGood(html, 1280, 7);
  ExpectGood(html, 500, 7);
  EXPECT_EQ(Open(html, 1280)["rows"], 20);
}

TEST_F(BrowserTest, EveryChartOfAComparisonDraws) {
  ExpectGood(RenderHtml(SampleComparison()), 1280, 5);
}

TEST_F(BrowserTest, HostileNamesRunNothing) {
  TuningReport report = SampleReport(50);
  report.program_name = report.kernels[0].name = "<img src=x onerror=console.error('run')>";
  EXPECT_EQ(Open(RenderHtml(report), 800)["problems"], nlohmann::json::array());
}

TEST_F(BrowserTest, TheProbeSeesAnError) {
  std::string html = RenderHtml(SampleReport(20));
  html.replace(html.find("'use strict';"), 13, "'use strict'; undefinedFunction();");
  EXPECT_NE(Open(html, 800)["problems"], nlohmann::json::array());
}

}  // namespace
}  // namespace autotune
