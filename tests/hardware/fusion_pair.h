#ifndef AUTOTUNE_TESTS_HARDWARE_FUSION_PAIR_H_
#define AUTOTUNE_TESTS_HARDWARE_FUSION_PAIR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "hardware/atomic_file.h"
#include "hardware/fusion_compiler.h"
#include "hardware/fusion_recording.h"
#include "hlo/fusion_graph.h"
#include "hlo/parser.h"
#include "tests/hardware/fusion_chain.h"

namespace autotune {

// Writes NAME.hlo and NAME.jsonl.gz: the chain as one kernel, and cut behind its third operation.
// Kernels have the fingerprints 1, 2 and 3 times `salt`, and take 20 us for each operation.
inline void WriteFusionPair(const std::string& folder, const std::string& name, uint64_t salt) {
  const auto graph = FusionGraph::Create(*ParseHloText(kChain));
  ASSERT_TRUE(graph.ok()) << graph.status();
  FusionRecording recording({name, FusionFingerprint(*graph), graph->edge_count(), "tpu-v3", "c"});
  const auto compile = [&](const std::vector<std::vector<int32_t>>& kernels, uint64_t first) {
    FusionCompilation compiled;
    for (const std::vector<int32_t>& nodes : kernels) {
      FusionKernel kernel;
      kernel.realised = {"k", 1, nodes};
      kernel.fingerprint = salt * first++;
      kernel.once.schedule = 2e-5 * static_cast<double>(nodes.size());
      compiled.grouping.kernels.push_back(kernel.realised);
      compiled.total += kernel.once;
      compiled.kernels.push_back(kernel);
    }
    compiled.key = compiled.grouping.Key();
    return compiled;
  };
  recording.Add({}, compile({{1, 2, 3, 4, 5}}, 1));
  recording.Add({{2}}, compile({{1, 2, 3}, {4, 5}}, 2));
  ASSERT_TRUE(WriteFileAtomically(absl::StrCat(folder, "/", name, ".hlo"), kChain).ok());
  ASSERT_TRUE(
      WriteFileAtomically(absl::StrCat(folder, "/", name, ".jsonl.gz"), recording.Serialize())
          .ok());
}

}  // namespace autotune

#endif  // AUTOTUNE_TESTS_HARDWARE_FUSION_PAIR_H_
