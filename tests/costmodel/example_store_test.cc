#include "costmodel/example_store.h"

#include "gtest/gtest.h"
#include "tests/costmodel/learning_test_data.h"

namespace autotune {
namespace {

void ExpectEqual(const KernelExample& a, const KernelExample& b) {
  EXPECT_EQ(SerializeExample(a), SerializeExample(b));
}

TEST(ExampleTest, ComesBackFromBytes) {
  KernelExample example = MadeUpExample(3, 4, 6);
  example.default_config = 2;
  const auto parsed = ParseExample(SerializeExample(example));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ExpectEqual(*parsed, example);
  EXPECT_EQ(parsed->default_config, 2);
  EXPECT_EQ(parsed->target, example.target);
  EXPECT_EQ(parsed->graph.edge_targets, example.graph.edge_targets);
}

TEST(ExampleTest, DamagedBytesAreRefused) {
  const std::string bytes = SerializeExample(MadeUpExample(3, 4, 6));
  for (size_t size = 0; size < bytes.size(); size += 7) {
    EXPECT_FALSE(ParseExample(bytes.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(ParseExample(bytes + "x").ok());
  std::string huge = bytes;
  huge.replace(0, 8, 8, '\xff');  // the length of the first text
  EXPECT_FALSE(ParseExample(huge).ok());
}

TEST(ExampleStoreTest, ReadsInAnyOrderWithinItsMemory) {
  // A tenth of the data fits.
  const auto all = MadeUpStore(0, 200);
  const auto store = MadeUpStore(0, 200, all->total_bytes() / 10);
  ASSERT_EQ(store->size(), 200);
  for (int round = 0; round < 3; ++round) {
    for (int64_t i = 0; i < 200; ++i) {
      const int64_t k = (i * 77 + round) % 200;
      const auto example = store->Read(k);
      ASSERT_TRUE(example.ok()) << example.status();
      EXPECT_EQ((*example)->fingerprint, static_cast<uint64_t>(k));
      ExpectEqual(**example, MadeUpExample(static_cast<uint64_t>(k), 2 + k % 7, 12 + k % 5));
    }
  }
  EXPECT_LE(store->peak_memory_bytes(), store->total_bytes() / 10);
  EXPECT_GT(store->peak_memory_bytes(), store->total_bytes() / 20);
}

TEST(ExampleStoreTest, KeepsWhatFits) {
  const auto store = MadeUpStore(0, 3);
  const auto first = store->Read(1);
  EXPECT_EQ(first->get(), store->Read(1)->get());
}

TEST(ExampleStoreTest, FolderThatIsNotThere) {
  EXPECT_FALSE(ExampleStore::Create("/nowhere/at/all", 1).ok());
}

}  // namespace
}  // namespace autotune
