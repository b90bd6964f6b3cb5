#include "hardware/fusion_recording.h"

#include <string>
#include <variant>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autotune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

FusionCompilation Compiled(std::vector<FusionRecordedKernel> kernels) {
  FusionCompilation compiled;
  for (const FusionRecordedKernel& kernel : kernels) {
    FusionKernel made;
    made.realised = {"k", kernel.executions, kernel.nodes};
    made.once = kernel.once;
    compiled.grouping.kernels.push_back(made.realised);
    compiled.total += {kernel.once.schedule * static_cast<double>(kernel.executions),
                       kernel.once.bundles, kernel.once.compiler};
    compiled.kernels.push_back(made);
  }
  compiled.key = compiled.grouping.Key();
  compiled.compile_seconds = 1.5;
  return compiled;
}

FusionRecording Sample() {
  FusionRecording recording({"program", 0xabcdef0123456789u, 10, "tpu-v3", "libtpu 1"});
  recording.Add(FusionDecision{}, Compiled({{{1, 2, 3}, 1, {3e-6, 2e-6, 4e-6}}, {{4}, 8, {}}}));
  recording.Add(FusionDecision{{2, 7}},
                Compiled({{{1, 2}, 1, {2e-6, 1e-6, 1e-6}}, {{3}, 1, {}}, {{4}, 8, {}}}));
  recording.Add(FusionDecision{{9}}, Failure{FailureKind::kTimeout, "too \"slow\"\n"});
  return recording;
}

TEST(FusionRecordingTest, WritesAndReadsBack) {
  const FusionRecording recording = Sample();
  EXPECT_EQ(recording.kernels().size(), 4);  // {4} is shared
  auto read = FusionRecording::Parse(recording.Serialize(), "r");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->origin(), recording.origin());
  EXPECT_EQ(read->Serialize(), recording.Serialize());
  const FusionEntry* entry = read->Find(FusionDecision{{2, 7}});
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->total.schedule, 2e-6);
  EXPECT_EQ(entry->key, read->GroupingOf(*entry).Key());
  EXPECT_EQ(read->GroupingOf(*entry).kernels[2].executions, 8);
  EXPECT_EQ(read->Find(FusionDecision{{9}})->failure->kind, FailureKind::kTimeout);
  EXPECT_EQ(read->Find(FusionDecision{{1}}), nullptr);
}

TEST(FusionRecordingTest, TheSameCutsCountOnce) {
  FusionRecording recording = Sample();
  recording.Add(FusionDecision{}, Compiled({{{9}, 1, {}}}));
  EXPECT_EQ(recording.entries().size(), 3);
}

// Cut anywhere, a file reads as the entries that are whole, and appending goes on from there.
TEST(FusionRecordingTest, AnInterruptedFileGoesOnWhereItWas) {
  const FusionRecording recording = Sample();
  const std::string text = recording.Serialize();
  for (size_t size = recording.HeaderLine().size(); size < text.size(); ++size) {
    int64_t kept = 0;
    auto read = FusionRecording::Parse(text.substr(0, size), "r", &kept);
    ASSERT_TRUE(read.ok()) << read.status();
    std::string grown = text.substr(0, static_cast<size_t>(kept));
    EXPECT_EQ(grown, read->Serialize());
    for (size_t i = read->entries().size(); i < recording.entries().size(); ++i) {
      const FusionEntry& entry = recording.entries()[i];
      if (entry.failure.has_value()) {
        read->Add(entry.decision, *entry.failure);
      } else {
        std::vector<FusionRecordedKernel> kernels;
        for (int32_t k : entry.kernels) kernels.push_back(recording.kernels()[k]);
        FusionCompilation compiled = Compiled(kernels);
        compiled.total = entry.total;
        read->Add(entry.decision, compiled);
      }
      grown += read->EntryLines(i);
    }
    EXPECT_EQ(grown, text);
  }
}

TEST(FusionRecordingTest, DamageIsNamed) {
  const std::string text = Sample().Serialize();
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"autotune-fusion-recording", "something"},
                                                        {"\"version\":1", "\"version\":2"},
                                                        {"\"cuts\":[2,7]", "\"cuts\":[7,2]"},
                                                        {"\"cuts\":[2,7]", "\"cuts\":[2,10]"},
                                                        {"\"cuts\":[2,7]", "\"cuts\":[-1,7]"},
                                                        {"\"kernel\":1", "\"kernel\":2"},
                                                        {"\"kernels\":[0,1]", "\"kernels\":[0,3]"},
                                                        {"\"seconds\":", "\"sec\":"}}) {
    std::string damaged = text;
    ASSERT_NE(damaged.find(from), std::string::npos) << from;
    damaged.replace(damaged.find(from), from.size(), to);
    auto read = FusionRecording::Parse(damaged, "file");
    EXPECT_FALSE(read.ok()) << from;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr("file:")) << from;
  }
  EXPECT_FALSE(FusionRecording::Parse("", "file").ok());
  EXPECT_THAT(std::string(FusionRecording::Parse("HloModule m\n", "file").status().message()),
              HasSubstr("file:1: this is no fusion recording; `autotune record --space fusion`"));
  EXPECT_FALSE(FusionRecording::Load("/nonexistent").ok());
}

TEST(FusionRecordingTest, DamageOfTheFirstLineIsNotCalledNoRecording) {
  const std::string text = Sample().Serialize();
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string damaged = text;
    EXPECT_NE(damaged.find(from), std::string::npos) << from;
    damaged.replace(damaged.find(from), from.size(), to);
    return std::string(FusionRecording::Parse(damaged, "file").status().message());
  };
  EXPECT_THAT(error("\"device\"", "\"divice\""), HasSubstr("key 'device' not found"));
  EXPECT_THAT(error("\"edges\":", "\"edges\":\"\",\"x\":"), HasSubstr("type must be number"));
  EXPECT_THAT(error("\"version\":1", "\"x\":1"), HasSubstr("key 'version' not found"));
  EXPECT_THAT(error("\"version\":1", "\"version\":2"),
              HasSubstr("of version 2; version 1 is known"));
  EXPECT_THAT(error("autotune-fusion-recording", "other"),
              HasSubstr("this is no fusion recording"));
}

}  // namespace
}  // namespace autotune
