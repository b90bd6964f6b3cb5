// The example's program and its recording fit together.

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "hardware/atomic_file.h"
#include "hardware/recording.h"
#include "hlo/kernel.h"
#include "hlo/module.h"
#include "hlo/parser.h"

namespace autotune {
namespace {

TEST(AlexnetExample, TheKernelsOfTheProgramAreTheRecordedOnes) {
  const std::string folder = absl::StrCat(AUTOTUNE_SOURCE_DIR, "/examples/alexnet");
  const absl::StatusOr<Recording> recording = Recording::Load(folder + "/tpu_v3.pb");
  ASSERT_TRUE(recording.ok()) << recording.status();
  absl::StatusOr<std::string> text = ReadWholeFile(folder + "/program.hlo");
  ASSERT_TRUE(text.ok()) << text.status();
  const absl::StatusOr<std::unique_ptr<HloModule>> program = ParseHloText(*std::move(text));
  ASSERT_TRUE(program.ok()) << program.status();
  const absl::StatusOr<std::vector<Kernel>> kernels = ExtractKernels(**program);
  ASSERT_TRUE(kernels.ok()) << kernels.status();

  std::set<std::string> found;
  for (const Kernel& kernel : *kernels) {
    const RecordedKernel* recorded = recording->Find(kernel.fingerprint);
    if (recorded == nullptr) continue;
    found.insert(recorded->kernel().name);
    EXPECT_EQ(kernel.kind, recorded->kernel().kind);
    // The program states the compiler's choice where the recording marks its default.
    const RecordedConfig* recorded_default = recorded->Default();
    ASSERT_NE(recorded_default, nullptr);
    if (kernel.compiler_choice.has_value() && recorded_default->config.tile() != nullptr) {
      EXPECT_EQ(Config(kernel.compiler_choice->bounds), recorded_default->config);
    }
  }
  for (const RecordedKernel& kernel : recording->kernels()) {
    EXPECT_TRUE(found.contains(kernel.kernel().name)) << kernel.kernel().name;
  }
}

}  // namespace
}  // namespace autotune
