#include "hardware/fusion_sweep.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "hardware/fusion_foresight.h"
#include "hlo/parser.h"
#include "tests/hardware/fusion_chain.h"

namespace autotune {
namespace {

FusionGraph Graph() {
  auto module = ParseHloText(kChain);
  EXPECT_TRUE(module.ok()) << module.status();
  auto graph = FusionGraph::Create(*std::move(module));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// A compiler that fuses the chain but for cuts and for its last edge; the longer the groups, the
// longer they take.
FusionCompilation Compile(const FusionGraph& graph, const FusionDecision& decision) {
  FusionCompilation compiled;
  FusionKernel kernel;
  const auto close = [&] {
    const double size = static_cast<double>(kernel.realised.nodes.size());
    kernel.once = {size * size, size * size, size * size};
    compiled.total += kernel.once;
    compiled.grouping.kernels.push_back(kernel.realised);
    compiled.kernels.push_back(std::exchange(kernel, {}));
  };
  for (int32_t node = 1; node < graph.node_count(); ++node) {
    kernel.realised.nodes.push_back(node);
    const int64_t edge = node - 1;  // to the next node
    const bool cut =
        std::binary_search(decision.cuts.begin(), decision.cuts.end(), edge) || edge == 3;
    if (cut || node + 1 == graph.node_count()) close();
  }
  compiled.key = compiled.grouping.Key();
  return compiled;
}

FusionRecording Empty(const FusionGraph& graph) {
  return FusionRecording({"chain", FusionFingerprint(graph), graph.edge_count(), "tpu-v3", ""});
}

TEST(FusionForesightTest, CutsOfWhatIsNotFusedChangeNothing) {
  const FusionGraph graph = Graph();
  ASSERT_EQ(graph.edge_count(), 4);
  FusionRecording recording = Empty(graph);
  FusionForesight foresight(&graph);
  EXPECT_EQ(foresight.Foresee({}), std::nullopt);
  recording.Add({}, Compile(graph, {}));
  recording.Add({{1}}, Compile(graph, {{1}}));
  recording.Add({{0}}, Failure{FailureKind::kTimeout, ""});
  foresight.Update(recording);
  EXPECT_EQ(foresight.Foresee({}), 0);
  EXPECT_EQ(foresight.Foresee({{3}}), 0);
  EXPECT_EQ(foresight.Foresee({{1, 3}}), 1);
  EXPECT_EQ(foresight.Foresee({{0}}), 2);
  EXPECT_EQ(foresight.Foresee({{0, 3}}), std::nullopt);  // a failure foretells nothing
  EXPECT_EQ(foresight.Foresee({{1, 2}}), std::nullopt);
}

TEST(FusionSweepTest, FewCutsAreAllOfThem) {
  const FusionGraph graph = Graph();
  const std::vector<FusionDecision> all = FewCuts(graph, 2);
  EXPECT_EQ(all.size(), 1 + 4 + 6);
  EXPECT_EQ(all.front(), FusionDecision{});
  EXPECT_EQ(all.back(), (FusionDecision{{2, 3}}));
}

// Everything that differs is compiled, nothing twice; a sweep that was interrupted takes the same
// course.
TEST(FusionSweepTest, RecordsEveryGroupingOnceInAFixedOrder) {
  const FusionGraph graph = Graph();
  std::vector<std::string> order;
  for (int round = 0; round < 2; ++round) {
    FusionRecording recording = Empty(graph);
    const FusionRecording* so_far = nullptr;
    std::vector<std::string> keys;
    for (int i = 0; i < 100; ++i) {
      FusionForesight foresight(&graph);  // as after an interruption
      if (so_far != nullptr) foresight.Update(*so_far);
      const std::optional<FusionDecision> next = NextToRecord(graph, so_far, foresight, 4, 7);
      if (!next.has_value()) break;
      keys.push_back(next->Key());
      recording.Add(*next, Compile(graph, *next));
      so_far = &recording;
    }
    EXPECT_EQ(keys.front(), "f=");
    // Three edges matter: eight groupings.
    EXPECT_EQ(keys.size(), 8);
    if (round == 0) order = keys;
    EXPECT_EQ(keys, order);
  }
}

}  // namespace
}  // namespace autotune
