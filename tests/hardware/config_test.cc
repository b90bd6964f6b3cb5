#include "hardware/config.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace autotune {
namespace {

using ::testing::HasSubstr;

std::vector<Config> Examples() {
  return {
      Config(TileBounds{}),
      Config(TileBounds{.output = {2, 26, 4, 2}}),
      Config(TileBounds{.kernel = {3, 1, 24, 3}, .output = {12, 4, 4, 3}}),
      Config(TileBounds{.kernel = {7}}),
      Config(FusionDecision{}),
      Config(FusionDecision{{0, 3, 17}}),
      Config(LayoutConfig{}),
      Config(LayoutConfig{{{}}}),
      Config(LayoutConfig{{{{}}}}),
      Config(LayoutConfig{{{{}}, {}}}),
      Config(LayoutConfig{{{{}, {}}}}),
      Config(LayoutConfig{{{{3, 2, 1, 0}, {}}, {{0, 1}}}}),
      Config(OpaqueConfig{0}),
      Config(OpaqueConfig{12}),
  };
}

TEST(Config, DistinctConfigsHaveDistinctKeys) {
  const std::vector<Config> all = Examples();
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_FALSE(all[i].Key().empty());
    for (size_t j = 0; j < all.size(); ++j) {
      EXPECT_EQ(all[i] == all[j], i == j) << all[i].Key() << " against " << all[j].Key();
    }
  }
}

TEST(Config, KeysAreTheDocumentedOnes) {
  EXPECT_EQ(Config(TileBounds{.kernel = {3, 1, 24, 3}, .output = {12, 4, 4, 3}}).Key(),
            "k=3,1,24,3;o=12,4,4,3");
  EXPECT_EQ(Config(TileBounds{.output = {16, 5, 1, 2}}).Key(), "o=16,5,1,2");
  EXPECT_EQ(Config(FusionDecision{{3, 17}}).Key(), "f=3,17");
  EXPECT_EQ(Config(LayoutConfig{{{{1, 0}, {}}, {{0}}}}).Key(), "l=|/1,0/|/0");
  EXPECT_EQ(Config(OpaqueConfig{2}).Key(), "#2");
}

TEST(Config, JsonRoundTrip) {
  for (const Config& config : Examples()) {
    const absl::StatusOr<Config> back =
        Config::FromJson(nlohmann::json::parse(config.ToJson().dump()));
    ASSERT_TRUE(back.ok()) << config.Key() << ": " << back.status();
    EXPECT_EQ(*back, config);
    EXPECT_EQ(back->ToJson(), config.ToJson());
  }
}

TEST(Config, KeyRoundTrip) {
  for (const Config& config : Examples()) {
    const absl::StatusOr<Config> back = Config::FromKey(config.Key());
    ASSERT_TRUE(back.ok()) << config.Key() << ": " << back.status();
    EXPECT_EQ(*back, config);
    EXPECT_EQ(back->ToJson(), config.ToJson());
  }
}

TEST(Config, JsonKeepsDerivedBoundsThoughEqualityIgnoresThem) {
  const Config config(TileBounds{.output = {1, 2}, .input = {3, 4}, .iteration = {5}});
  EXPECT_EQ(config, Config(TileBounds{.output = {1, 2}}));
  const absl::StatusOr<Config> back = Config::FromJson(config.ToJson());
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->tile()->input, (WindowBounds{3, 4}));
  EXPECT_EQ(back->tile()->iteration, (WindowBounds{5}));
}

TEST(Config, BadJsonSaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"3", "the value is not an object with one member"},
      {"{}", "one member"},
      {R"({"tile":{},"opaque":1})", "one member"},
      {R"({"tiles":{}})", "\"tiles\" is not one of tile, fusion, layout, opaque"},
      {R"({"tile":[]})", "\"tile\" is not an object"},
      {R"({"tile":{"outputs":[1]}})", "\"tile\".\"outputs\" is not one of kernel, output"},
      {R"({"tile":{"output":3}})", "\"tile\".\"output\" is not an array"},
      {R"({"tile":{"output":[1,"2"]}})", "\"tile\".\"output\" is not an array of integers"},
      {R"({"tile":{"output":[1.5]}})", "\"tile\".\"output\" is not an array of integers"},
      {R"({"tile":{"output":[-1]}})", "not negative"},
      {R"({"tile":{"output":[18446744073709551615]}})", "\"tile\".\"output\""},
      {R"({"fusion":{}})", "\"cuts\""},
      {R"({"fusion":{"cuts":[3,1]}})", "sorted and without duplicates"},
      {R"({"fusion":{"cuts":[3,3]}})", "sorted and without duplicates"},
      {R"({"layout":{}})", "\"layout\" is not an array of nodes"},
      {R"({"layout":[[[0]],3]})", "\"layout\"[1] is not an array of tensors"},
      {R"({"layout":[[[0],[99999999999]]]})", "\"layout\"[0]"},
      {R"({"opaque":-1})", "\"opaque\" is not an integer"},
      {R"({"opaque":[1]})", "\"opaque\" is not an integer"},
  };
  for (const auto& [text, message] : cases) {
    const absl::StatusOr<Config> config = Config::FromJson(nlohmann::json::parse(text));
    ASSERT_FALSE(config.ok()) << text;
    EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(config.status().message()), HasSubstr(message)) << text;
  }
}

TEST(Config, WhatIsNoCanonicalKeyIsRefused) {
  for (const char* key : {"",        "o",
                          "x=1",     "o=1,",
                          "o=,1",    "o=01",
                          "o=+1",    "o=-1",
                          "o= 1",    "o=1 ",
                          "k=;o=1",  "k=1",
                          "k=1;",    "k=1;o",
                          "o=1;k=1", "o=9223372036854775808",
                          "f=1,1",   "f=2,1",
                          "f=x",     "l=/1",
                          "l=|1",    "l=|/4294967296",
                          "#",       "#1,2",
                          "#-1",     "#x"}) {
    EXPECT_FALSE(Config::FromKey(key).ok()) << key;
  }
}

}  // namespace
}  // namespace autotune
