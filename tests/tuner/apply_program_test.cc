// `apply` against the real TPU compiler; skipped where libtpu is not installed (./autotune --with
// aot).

#include "tuner/apply_program.h"

#include <algorithm>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "hardware/aot_record.h"
#include "hardware/pjrt_discovery.h"
#include "hardware/pjrt_plugin.h"
#include "hardware/scheduled_program.h"
#include "hlo/parser.h"

namespace autotune {
namespace {

constexpr char kProgram[] = R"(HloModule small
%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %add = f32[] add(%a, %b)
}
ENTRY %main (x: f32[512,1024], w: f32[1024,512]) -> (f32[512,512], f32[512]) {
  %x = f32[512,1024] parameter(0)
  %w = f32[1024,512] parameter(1)
  %y = f32[512,512] dot(%x, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %z = f32[512,512] tanh(%y)
  %zero = f32[] constant(0)
  %r = f32[512] reduce(%x, %zero), dimensions={1}, to_apply=%sum
  ROOT %t = (f32[512,512], f32[512]) tuple(%z, %r)
}
)";

class ApplyProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasPjrtSupport() || !FindLibtpu().ok()) GTEST_SKIP() << "libtpu is not installed";
    absl::StatusOr<std::unique_ptr<AotBackend>> backend = AotBackend::Create({.target = "v3"});
    ASSERT_TRUE(backend.ok()) << backend.status();
    backend_ = *std::move(backend);
    absl::StatusOr<std::unique_ptr<HloModule>> program = ParseHloText(kProgram);
    ASSERT_TRUE(program.ok()) << program.status();
    program_ = *std::move(program);
    absl::StatusOr<AotDefault> compiled = backend_->CompileProgram(*program_);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    default_ = *std::move(compiled);
  }

  // Every kernel with a window, with the compiler's own tile.
  BestConfig Defaults() const {
    BestConfig best;
    best.device = "tpu-v3";
    for (const Kernel& kernel : default_.kernels) {
      if (!kernel.compiler_choice) continue;
      BestConfig::KernelEntry entry;
      entry.name = kernel.name;
      entry.fingerprint = kernel.fingerprint;
      entry.config = entry.default_config = Config(kernel.compiler_choice->bounds);
      best.kernels.push_back(entry);
    }
    return best;
  }

  // A tile that the compiler obeys for the kernel alone, but would not choose.
  TileBounds OtherTile(uint64_t fingerprint) {
    for (const Kernel& kernel : default_.kernels) {
      if (kernel.fingerprint != fingerprint) continue;
      const auto tiles = CanonicalTiles(kernel, backend_->device().vmem_bytes, {.sample = 8});
      EXPECT_TRUE(tiles.ok()) << tiles.status();
      for (const TileBounds& bounds : *tiles) {
        if (bounds == kernel.compiler_choice->bounds) continue;
        const auto estimate = backend_->Estimate(kernel, &bounds);
        if (estimate.ok() && std::holds_alternative<AotEstimate>(*estimate)) return bounds;
      }
    }
    ADD_FAILURE() << "no other tile";
    return TileBounds();
  }

  AppliedProgram Apply(const BestConfig& best, ApplyForm form) {
    absl::StatusOr<AppliedProgram> applied = ApplyBest(*program_, best, backend_.get(), form);
    EXPECT_TRUE(applied.ok()) << applied.status();
    return applied.ok() ? *std::move(applied) : AppliedProgram();
  }

  std::unique_ptr<AotBackend> backend_;
  std::unique_ptr<HloModule> program_;
  AotDefault default_;
};

TEST_F(ApplyProgramTest, KernelsAreMappedToTheirHeroes) {
  ASSERT_GE(default_.sites.size(), 2u);
  std::vector<std::string> heroes;
  for (const TuningSite& site : default_.sites) {
    EXPECT_EQ(site.state, SiteState::kMapped) << site.kernel << ": " << site.reason;
    heroes.push_back(site.hero);
  }
  EXPECT_EQ(std::count(heroes.begin(), heroes.end(), "y"), 1);
  EXPECT_EQ(std::count(heroes.begin(), heroes.end(), "r"), 1);
}

TEST_F(ApplyProgramTest, TheCompilersOwnChoiceChangesNothing) {
  const BestConfig best = Defaults();
  const AppliedProgram applied = Apply(best, ApplyForm::kScheduled);
  EXPECT_EQ(applied.Count(ApplyOutcome::kDefault), static_cast<int64_t>(best.kernels.size()));
  EXPECT_EQ(applied.compilations, 0);
  EXPECT_EQ(applied.program->ToString(), program_->ToString());
}

TEST_F(ApplyProgramTest, TheCompilersOwnChoiceReplacesTheTilesOfATunedProgram) {
  BestConfig best = Defaults();
  for (BestConfig::KernelEntry& entry : best.kernels) {
    entry.config = Config(OtherTile(entry.fingerprint));
  }
  const AppliedProgram tuned = Apply(best, ApplyForm::kScheduled);
  ASSERT_EQ(tuned.Count(ApplyOutcome::kApplied), static_cast<int64_t>(best.kernels.size()));
  EXPECT_FALSE(HasTilesToApply(*program_, Defaults()));
  EXPECT_TRUE(HasTilesToApply(*tuned.program, Defaults()));
  program_ = *ParseHloText(tuned.program->ToString());
  const AppliedProgram again = Apply(Defaults(), ApplyForm::kScheduled);
  EXPECT_EQ(again.Count(ApplyOutcome::kApplied), static_cast<int64_t>(best.kernels.size()));
  absl::StatusOr<AotDefault> compiled = backend_->CompileProgram(*again.program);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  for (const TuningSite& site : compiled->sites) {
    for (const BestConfig::KernelEntry& entry : best.kernels) {
      if (site.fingerprint != entry.fingerprint) continue;
      EXPECT_EQ(site.choice->bounds, *entry.default_config->tile()) << site.kernel;
    }
  }
}

class ApplyFormTest : public ApplyProgramTest, public testing::WithParamInterface<ApplyForm> {};

TEST_P(ApplyFormTest, TheCompiledKernelsHaveTheChosenTiles) {
  BestConfig best = Defaults();
  std::vector<TileBounds> chosen;
  for (BestConfig::KernelEntry& entry : best.kernels) {
    chosen.push_back(OtherTile(entry.fingerprint));
    entry.config = Config(chosen.back());
  }
  const AppliedProgram applied = Apply(best, GetParam());
  ASSERT_NE(applied.program, nullptr);
  EXPECT_EQ(applied.form, GetParam());
  EXPECT_EQ(applied.program->is_scheduled(), GetParam() == ApplyForm::kScheduled);
  EXPECT_FALSE(applied.source->is_scheduled());
  for (const AppliedKernel& kernel : applied.kernels) {
    EXPECT_EQ(kernel.outcome, ApplyOutcome::kApplied) << kernel.kernel << ": " << kernel.detail;
  }
  const absl::StatusOr<AotDefault> compiled = backend_->CompileProgram(*applied.program);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  for (size_t i = 0; i < best.kernels.size(); ++i) {
    const auto site = std::find_if(compiled->sites.begin(), compiled->sites.end(),
                                   [&](const TuningSite& candidate) {
                                     return candidate.fingerprint == best.kernels[i].fingerprint;
                                   });
    ASSERT_NE(site, compiled->sites.end()) << best.kernels[i].name;
    EXPECT_EQ(site->choice->bounds.Key(), chosen[i].Key()) << best.kernels[i].name;
  }
}

TEST_P(ApplyFormTest, WhatTheCompilerRefusesIsLeftOutAndTheRestStays) {
  BestConfig best = Defaults();
  ASSERT_GE(best.kernels.size(), 2u);
  TileBounds fine = *best.kernels[0].config->tile();
  fine.output[0] = 1;
  if (Config(fine) == *best.kernels[0].default_config) fine.output[0] = 2;
  best.kernels[0].config = Config(fine);
  TileBounds absurd = *best.kernels[1].config->tile();
  absurd.output.push_back(1);  // one dimension too many: the compiler aborts
  best.kernels[1].config = Config(absurd);
  const AppliedProgram applied = Apply(best, GetParam());
  EXPECT_EQ(applied.kernels[0].outcome, ApplyOutcome::kApplied) << applied.kernels[0].detail;
  EXPECT_EQ(applied.kernels[1].outcome, ApplyOutcome::kNotApplied);
  EXPECT_NE(applied.kernels[1].detail, "");
  EXPECT_EQ(applied.form, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Forms, ApplyFormTest,
                         testing::Values(ApplyForm::kSource, ApplyForm::kScheduled),
                         [](const auto& form) {
                           return form.param == ApplyForm::kSource ? "Source" : "Scheduled";
                         });

// The compiler for v5e places the arrays of so small a program in VMEM.
TEST_F(ApplyProgramTest, ProgramsWithPlacedArraysTakeTheirTilesBeforeOptimisation) {
  absl::StatusOr<std::unique_ptr<AotBackend>> backend = AotBackend::Create({.target = "v5e"});
  ASSERT_TRUE(backend.ok()) << backend.status();
  backend_ = *std::move(backend);
  absl::StatusOr<AotDefault> compiled = backend_->CompileProgram(*program_);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  ASSERT_TRUE(HoldsPlacedArrays(*compiled->optimized));
  default_ = *std::move(compiled);
  BestConfig best = Defaults();
  best.kernels.front().config = Config(OtherTile(best.kernels.front().fingerprint));
  const AppliedProgram applied = Apply(best, ApplyForm::kScheduled);
  EXPECT_EQ(applied.form, ApplyForm::kSource);
  EXPECT_FALSE(applied.program->is_scheduled());
}

TEST_F(ApplyProgramTest, KernelsOfWhichNothingWasMeasuredStayAsTheyAre) {
  BestConfig best = Defaults();
  for (BestConfig::KernelEntry& entry : best.kernels) entry.config.reset();
  const AppliedProgram applied = Apply(best, ApplyForm::kScheduled);
  EXPECT_EQ(applied.Count(ApplyOutcome::kDefault), static_cast<int64_t>(best.kernels.size()));
  EXPECT_EQ(applied.kernels[0].detail, "nothing of it was measured");
  EXPECT_EQ(applied.program->ToString(), program_->ToString());
}

TEST_F(ApplyProgramTest, AnotherProgramsKernelsAreReported) {
  BestConfig best = Defaults();
  best.kernels.resize(1);
  best.kernels[0].fingerprint ^= 1;
  TileBounds bounds = *best.kernels[0].config->tile();
  bounds.output[0] += 1;
  best.kernels[0].config = Config(bounds);
  const AppliedProgram applied = Apply(best, ApplyForm::kScheduled);
  EXPECT_EQ(applied.kernels[0].outcome, ApplyOutcome::kNotApplied);
  EXPECT_TRUE(absl::StrContains(applied.kernels[0].detail, "has no such kernel"));
}

}  // namespace
}  // namespace autotune
