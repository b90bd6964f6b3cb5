// The compiler writes the window and iteration bounds that it derives into every optimised program:
// TileGeometry must derive the same.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "hlo/kernel.h"
#include "hlo/module.h"
#include "hlo/read_module.h"
#include "hlo/tile_geometry.h"

namespace autotune {
namespace {

struct Agreement {
  int kernels = 0;
  int iterations = 0;
  int inputs_given = 0;
  int inputs = 0;
};

TEST(TileGeometryProgramsTest, DerivesWhatTheCompilerDerives) {
  if (std::string(AUTOTUNE_SHARED_DIR).empty()) GTEST_SKIP() << "no shared data";
  std::map<HeroKind, Agreement> agreement;
  const auto folder = std::filesystem::path(AUTOTUNE_SHARED_DIR) / "data" / "programs";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".v3.hlo") && !path.ends_with(".v5e.hlo")) continue;
    const auto module = ReadModuleFile(path);
    ASSERT_TRUE(module.ok()) << module.status();
    const auto kernels = ExtractKernels(*module->module);
    ASSERT_TRUE(kernels.ok()) << kernels.status();
    for (const Kernel& kernel : *kernels) {
      if (!kernel.compiler_choice) continue;
      const TileBounds& chosen = kernel.compiler_choice->bounds;
      const auto geometry = TileGeometry::Create(*kernel.module);
      ASSERT_TRUE(geometry.ok()) << path << " " << geometry.status();
      ASSERT_TRUE(geometry->Check(chosen).ok())
          << path << " " << kernel.name << " " << geometry->Check(chosen);
      const TileBounds derived = geometry->Complete(chosen);
      Agreement& of_kind = agreement[geometry->hero_kind()];
      ++of_kind.kernels;
      of_kind.iterations += derived.iteration == chosen.iteration;
      of_kind.inputs_given += !chosen.input.empty();
      of_kind.inputs += !chosen.input.empty() && derived.input == chosen.input;
    }
  }
  int kernels = 0;
  for (const auto& [kind, of_kind] : agreement) {
    SCOPED_TRACE(std::string(HeroKindName(kind)));
    EXPECT_EQ(of_kind.iterations, of_kind.kernels);
    // The halo of running sums (window reductions over a whole dimension) is left out by the
    // compiler: 3 of 45.
    const int exceptions = kind == HeroKind::kReduceWindow ? 3 : 0;
    EXPECT_GE(of_kind.inputs, of_kind.inputs_given - exceptions);
    kernels += of_kind.kernels;
  }
  EXPECT_GT(kernels, 2000);
}

}  // namespace
}  // namespace autotune
