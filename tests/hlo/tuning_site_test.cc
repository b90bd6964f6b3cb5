#include "hlo/tuning_site.h"

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "hlo/parser.h"

namespace autotune {
namespace {

std::unique_ptr<HloModule> Parse(const std::string& text) {
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : nullptr;
}

// The number of an instruction's mark is its place in the protobuf: x 0, y 1, z 2, u 3.
constexpr char kProgram[] = R"(HloModule program
ENTRY main {
  x = f32[64,128] parameter(0)
  y = f32[64,128] add(x, x), metadata={op_name="jit(f)/add"}
  z = f32[64,128] tanh(y)
  ROOT u = f32[64,128] negate(z)
}
)";

// A loop fusion of one operation with a window, whose mark is MARK, and its parameter.
std::string Optimized(const std::string& first, const std::string& second) {
  return R"(HloModule optimized, is_scheduled=true
f1 {
  p = f32[64,128]{1,0:T(8,128)} parameter(0)
  ROOT t = f32[64,128]{1,0:T(8,128)} tanh(p), metadata={op_name=")" +
         first + R"("}
}
f2 {
  q = f32[64,128]{1,0:T(8,128)} parameter(0)
  ROOT n = f32[64,128]{1,0:T(8,128)} negate(q), metadata={op_name=")" +
         second + R"("}
}
ENTRY main {
  x = f32[64,128]{1,0:T(8,128)} parameter(0)
  fusion.1 = f32[64,128]{1,0:T(8,128)} fusion(x), kind=kLoop, calls=f1,
    backend_config={"window_config":{"output_window_bounds":["8","1"],"kernel_window_bounds":[]}}
  ROOT fusion.2 = f32[64,128]{1,0:T(8,128)} fusion(fusion.1), kind=kLoop, calls=f2,
    backend_config={"window_config":{"output_window_bounds":["4","1"],"kernel_window_bounds":[]}}
}
)";
}

TEST(TuningSite, KernelsAreMappedToTheirHeroes) {
  const auto sites =
      FindTuningSites(*Parse(kProgram), *Parse(Optimized("jit(f)/add;site=2;", ";site=3;")));
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_EQ(sites[0].kernel, "fusion.1");
  EXPECT_EQ(sites[0].state, SiteState::kMapped);
  EXPECT_EQ(sites[0].hero, "z");
  EXPECT_EQ(sites[0].choice->bounds.Key(), "o=8,1");
  EXPECT_EQ(sites[1].hero, "u");
  EXPECT_NE(sites[0].fingerprint, sites[1].fingerprint);
}

TEST(TuningSite, WithoutAMarkItIsLost) {
  const auto sites = FindTuningSites(*Parse(kProgram), *Parse(Optimized("", ";site=99;")));
  ASSERT_EQ(sites.size(), 2u);
  for (const TuningSite& site : sites) {
    EXPECT_EQ(site.state, SiteState::kLost);
    EXPECT_TRUE(absl::StrContains(site.reason, "the compiler made its")) << site.reason;
    EXPECT_EQ(site.hero, "");
  }
}

TEST(TuningSite, SeveralMarksAreAmbiguous) {
  const auto sites =
      FindTuningSites(*Parse(kProgram), *Parse(Optimized("a;site=1;b;site=2;", ";site=3;")));
  EXPECT_EQ(sites[0].state, SiteState::kAmbiguous);
  EXPECT_EQ(sites[0].reason, "it may stem from y, z");
  EXPECT_EQ(sites[1].state, SiteState::kMapped);
}

TEST(TuningSite, OneHeroOfTwoKernelsIsAmbiguous) {
  const auto sites = FindTuningSites(*Parse(kProgram), *Parse(Optimized(";site=2;", ";site=2;")));
  for (const TuningSite& site : sites) {
    EXPECT_EQ(site.state, SiteState::kAmbiguous);
    EXPECT_TRUE(absl::StrContains(site.reason, "around z")) << site.reason;
  }
}

TEST(TuningSite, MarksCanBeTakenAway) {
  const std::unique_ptr<HloModule> program = Parse(kProgram);
  const proto::HloModuleProto before = program->ToProto();
  proto::HloModuleProto marked = before;
  StampInstructions(&marked);
  EXPECT_EQ(marked.computations(0).instructions(1).metadata().op_name(), "jit(f)/add;site=1;");
  RemoveStamps(&marked);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(marked.computations(0).instructions(i).metadata().op_name(),
              before.computations(0).instructions(i).metadata().op_name());
  }
}

}  // namespace
}  // namespace autotune
