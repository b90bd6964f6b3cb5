#ifndef AUTOTUNE_TESTS_SEARCH_TESTING_FUSION_H_
#define AUTOTUNE_TESTS_SEARCH_TESTING_FUSION_H_

#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "hlo/fusion_graph.h"
#include "hlo/parser.h"
#include "tests/search/layered_program.h"

namespace autotune::testing {

inline FusionGraph ParseGraph(const std::string& text) {
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  absl::StatusOr<FusionGraph> graph = FusionGraph::Create(*std::move(module));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// LayeredProgram: about 12 operations a layer.
inline FusionGraph LayeredGraph(int layers) { return ParseGraph(LayeredProgram(layers)); }

}  // namespace autotune::testing

#endif  // AUTOTUNE_TESTS_SEARCH_TESTING_FUSION_H_
