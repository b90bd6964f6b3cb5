#include "hardware/compiler_version.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace autotune {
namespace {

// Regression: records said "TFRT TPU v5 lite" and neither build nor release of the compiler.
TEST(CompilerVersionTest, AllLinesAndTheRelease) {
  const std::string folder = absl::StrCat(testing::TempDir(), "/packages-", getpid());
  std::filesystem::create_directories(folder + "/libtpu");
  std::filesystem::create_directories(folder + "/libtpu-0.0.52.dist-info");
  std::filesystem::create_directories(folder + "/libtpuish-3.dist-info");
  std::ofstream(folder + "/libtpu/libtpu.so") << "x";
  const std::string plugin = folder + "/libtpu/libtpu.so";
  EXPECT_EQ(CompilerVersion("TFRT TPU v5 lite\nBuilt on Nov 5 cl/10\n", plugin),
            "TFRT TPU v5 lite; Built on Nov 5 cl/10; libtpu 0.0.52");
  std::filesystem::create_directories(folder + "/libtpu-0.0.53.dist-info");
  EXPECT_EQ(CompilerVersion("TFRT TPU v5 lite", plugin), "TFRT TPU v5 lite");
  std::filesystem::remove_all(folder);
  EXPECT_EQ(CompilerVersion("one", "/nowhere/plugin.so"), "one");
}

TEST(CompilerVersionTest, RecordsThatSayLessMayBeOfTheSameCompiler) {
  const std::string whole = "TFRT TPU v3; Built on Nov 5 cl/10; libtpu 0.0.52";
  EXPECT_TRUE(MayBeSameCompiler(whole, whole));
  EXPECT_TRUE(MayBeSameCompiler("TFRT TPU v3", whole));
  EXPECT_TRUE(MayBeSameCompiler(whole, "TFRT TPU v3; Built on Nov 5 cl/10"));
  EXPECT_FALSE(MayBeSameCompiler(whole, "TFRT TPU v3; Built on Nov 6 cl/11"));
  EXPECT_FALSE(MayBeSameCompiler(whole, "TFRT TPU v3; Built on Nov 5 cl/10; libtpu 0.0.53"));
  EXPECT_FALSE(MayBeSameCompiler("TFRT TPU v2", whole));
}

}  // namespace
}  // namespace autotune
