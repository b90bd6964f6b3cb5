#include "hardware/npz_file.h"

#include <unistd.h>

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hardware/atomic_file.h"

namespace autotune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The files numpy_*.npz are written by NumPy 2 (see README.md there).
std::string DataFile(const std::string& name) {
  return absl::StrCat(AUTOTUNE_SOURCE_DIR, "/tests/hardware/data/", name);
}

std::unique_ptr<NpzReader> OpenData(const std::string& name) {
  absl::StatusOr<std::unique_ptr<NpzReader>> reader = NpzReader::Open(DataFile(name));
  EXPECT_TRUE(reader.ok()) << reader.status();
  return reader.ok() ? *std::move(reader) : nullptr;
}

class NumpyTileFile : public ::testing::TestWithParam<const char*> {};

TEST_P(NumpyTileFile, IsRead) {
  const auto reader = OpenData(GetParam());
  ASSERT_NE(reader, nullptr);
  EXPECT_THAT(reader->names(), ElementsAre("node_feat", "node_opcode", "edge_index", "config_feat",
                                           "config_runtime", "config_runtime_normalizers"));
  const auto features = reader->Read("node_feat");
  ASSERT_TRUE(features.ok()) << features.status();
  EXPECT_THAT(features->shape, ElementsAre(3, 140));
  EXPECT_EQ(features->Floats()[419], 419.0f / 7);
  EXPECT_THAT(*reader->Read("node_opcode")->Integers(), ElementsAre(63, 2, 11));
  EXPECT_THAT(*reader->Read("edge_index")->Integers(), ElementsAre(2, 0, 2, 1));
  EXPECT_THAT(*reader->Read("config_runtime")->Integers(), ElementsAre(3872123456789, 1));
  EXPECT_EQ(reader->Read("nothing").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(features->Integers().status().message()), HasSubstr("fractions"));
}

INSTANTIATE_TEST_SUITE_P(StoredAndDeflated, NumpyTileFile,
                         ::testing::Values("numpy_tile.npz", "numpy_tile_compressed.npz"));

TEST(NpzFile, ReadsEveryTypeOfNumber) {
  const auto reader = OpenData("numpy_types.npz");
  ASSERT_NE(reader, nullptr);
  int checked = 0;
  for (const std::string& name : reader->names()) {
    if (name.rfind("t_", 0) != 0) continue;
    const auto array = reader->Read(name);
    ASSERT_TRUE(array.ok()) << array.status();
    const float last = name == "t_b1" ? 1 : 100;
    EXPECT_THAT(array->Floats(), ElementsAre(0, 1, last)) << name;
    if (const auto integers = array->Integers(); integers.ok()) {
      EXPECT_THAT(*integers, ElementsAre(0, 1, static_cast<int64_t>(last))) << name;
    }
    ++checked;
  }
  EXPECT_EQ(checked, 15);
  const std::vector<float> half = reader->Read("half")->Floats();
  EXPECT_EQ(half[0], 1.5f);
  EXPECT_EQ(half[1], -std::ldexp(1.0f, -14));
  EXPECT_EQ(half[2], std::ldexp(1.0f, -24)) << "denormal";
  EXPECT_EQ(half[3], 65504.0f);
  EXPECT_EQ(half[4], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::signbit(half[5]));
  EXPECT_THAT(*reader->Read("scalar")->Integers(), ElementsAre(7));
  EXPECT_THAT(reader->Read("empty")->shape, ElementsAre(0, 18));
}

TEST(NpzFile, ReadsFortranOrderAndRefusesWhatIsNoNumber) {
  const auto reader = OpenData("numpy_types.npz");
  ASSERT_NE(reader, nullptr);
  std::vector<int64_t> expected(24);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(*reader->Read("fortran")->Integers(), expected);
  EXPECT_THAT(std::string(reader->Stream("fortran").status().message()), HasSubstr("Fortran"));
  EXPECT_THAT(std::string(reader->Read("text").status().message()),
              HasSubstr("numpy_types.npz: member text.npy: the array's header has the type"));
  EXPECT_FALSE(reader->Read("complex").ok());
}

TEST(NpzFile, ReadsZip64) {
  const auto reader = OpenData("numpy_zip64.npz");
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ((*reader->Read("a")->Integers())[49], 49);
  EXPECT_EQ(reader->Read("b")->ElementCount(), 10'000);
}

TEST(NpzFile, StreamsAnArrayInParts) {
  const auto reader = OpenData("numpy_tile_compressed.npz");
  ASSERT_NE(reader, nullptr);
  auto stream = reader->Stream("node_feat");
  ASSERT_TRUE(stream.ok()) << stream.status();
  EXPECT_EQ((*stream)->header().RowElements(), 140);
  std::string joined;
  for (;;) {
    const auto part = (*stream)->Next(101);
    ASSERT_TRUE(part.ok()) << part.status();
    if (part->empty()) break;
    joined += *part;
  }
  EXPECT_EQ(joined, reader->Read("node_feat")->data);
}

TEST(NpzFile, WhatIsWrittenIsReadBackTheSame) {
  std::vector<float> values(10'000);
  std::iota(values.begin(), values.end(), 0.0f);
  const std::vector<NamedNpyArray> arrays = {
      {"a", NpyArray::OfFloats({100, 100}, values)},
      {"b", NpyArray::OfInt64({2}, {-1, 1LL << 62})},
      {"c", NpyArray::OfInt32({0, 2}, {})},
      {"scalar", NpyArray::OfInt32({}, {5})},
  };
  const auto bytes = SerializeNpz(arrays);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_TRUE(LooksLikeNpz(*bytes));
  EXPECT_EQ(*SerializeNpz(arrays), *bytes);
  const auto reader = NpzReader::FromBytes(*bytes, "x.npz");
  ASSERT_TRUE(reader.ok()) << reader.status();
  for (const NamedNpyArray& named : arrays) {
    const auto array = (*reader)->Read(named.name);
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_EQ(*array, named.array) << named.name;
  }
}

// Every cut and every damaged byte gives an error or the same arrays; nothing crashes.
TEST(NpzFile, DamageIsAnError) {
  for (const char* name : {"numpy_tile_compressed.npz", "numpy_zip64.npz"}) {
    const std::string whole = *ReadWholeFile(DataFile(name));
    const auto good = OpenData(name);
    ASSERT_NE(good, nullptr);
    int64_t errors = 0;
    const auto check = [&](const std::string& bytes) {
      const auto reader = NpzReader::FromBytes(bytes, "x.npz");
      if (!reader.ok()) {
        EXPECT_THAT(std::string(reader.status().message()), HasSubstr("x.npz"));
        ++errors;
        return;
      }
      for (const std::string& array : (*reader)->names()) {
        const auto content = (*reader)->Read(array);
        if (!content.ok()) {
          ++errors;
        } else if (good->Has(array)) {
          EXPECT_EQ(content->data, good->Read(array)->data);
        }
      }
    };
    for (size_t length = 0; length < whole.size(); length += 7) check(whole.substr(0, length));
    for (size_t at = 0; at < whole.size(); ++at) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
      check(damaged);
    }
    EXPECT_GT(errors, static_cast<int64_t>(whole.size()) / 4);
  }
}

// A member of 100 bytes that claims 4 GB must not make anyone allocate them.
TEST(NpzFile, ASizeThatCannotBeIsRefused) {
  std::string bytes = *SerializeNpz({{"a", NpyArray::OfInt32({2}, {1, 2})}});
  const size_t entry = bytes.rfind("PK\x01\x02");
  for (int i = 0; i < 4; ++i) bytes[entry + 24 + static_cast<size_t>(i)] = '\x7f';
  EXPECT_THAT(std::string(NpzReader::FromBytes(bytes, "x.npz").status().message()),
              HasSubstr("claims a size"));
}

TEST(NpyArray, HeadersThatNumpyDoesNotWriteAreRefused) {
  const auto with = [](const std::string& text) {
    return absl::StrCat(absl::string_view("\x93NUMPY\x01\x00", 8),
                        std::string(1, static_cast<char>(text.size())), std::string(1, '\0'), text);
  };
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }\n";
  EXPECT_TRUE(ParseNpyHeader(with(good)).ok()) << ParseNpyHeader(with(good)).status();
  for (const char* text : {
           "",
           "{",
           "{}",
           "[1]",
           "{'descr': '<f4', 'fortran_order': False}",
           "{'descr': [('a','<f4')], 'fortran_order': False, 'shape': (0,)}",
           "{'descr': '<c8', 'fortran_order': False, 'shape': (0,)}",
           "{'descr': '', 'fortran_order': False, 'shape': (0,)}",
           "{'descr': '<f4', 'fortran_order': 3, 'shape': (0,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (0 0)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (0,",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (0,)} import os",
           "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (0,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (4000000000, 4000000000, 0)}",
       }) {
    EXPECT_FALSE(ParseNpyHeader(with(text)).ok()) << text;
  }
}

TEST(NpzFile, FilesThatAreNone) {
  EXPECT_EQ(NpzReader::Open("/nonexistent.npz").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(NpzReader::Open("/tmp").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(NpzReader::FromBytes("", "x").ok());
  EXPECT_FALSE(NpzReader::FromBytes("HloModule m", "x").ok());
}

}  // namespace
}  // namespace autotune
