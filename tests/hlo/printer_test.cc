#include "hlo/printer.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/parser.h"

namespace autotune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Random modules: valid names, shapes and attributes, without regard to what the operations mean.
class ModuleGenerator {
 public:
  explicit ModuleGenerator(uint64_t seed) : random_(seed) {}

  std::string Module() {
    std::string text = "HloModule m";
    if (Chance(2)) text += ", is_scheduled=true";
    if (Chance(3)) text += ", replica_count=4";
    if (Chance(3)) text += ", frontend_attributes={k=\"v\\\"w\",j={\"a\":[1]}}";
    text += "\n\n";
    const int computations = 1 + Below(4);
    for (int i = 0; i < computations; ++i) {
      text += i + 1 == computations ? "ENTRY " : "";
      text += Computation(i);
    }
    return text;
  }

 private:
  int Below(int limit) { return static_cast<int>(random_() % static_cast<uint64_t>(limit)); }
  bool Chance(int one_in) { return Below(one_in) == 0; }
  template <typename T>
  T Pick(std::initializer_list<T> values) {
    return *(values.begin() + Below(static_cast<int>(values.size())));
  }

  std::string Dimensions(int* rank, int64_t* elements) {
    std::vector<int> extents;
    *elements = 1;
    *rank = Below(4);
    for (int i = 0; i < *rank; ++i) {
      extents.push_back(Below(4));
      *elements *= extents.back();
    }
    return absl::StrCat("[", absl::StrJoin(extents, ","), "]");
  }

  std::string ArrayShape() {
    int rank;
    int64_t elements;
    const std::string type = Pick<const char*>({"f32", "bf16", "s32", "pred", "u8", "s4", "c64"});
    std::string shape = type + Dimensions(&rank, &elements);
    if (rank == 0 || Chance(3)) return shape;
    std::vector<int> layout;
    for (int i = 0; i < rank; ++i) layout.push_back(i);
    for (int i = rank - 1; i > 0; --i) std::swap(layout[i], layout[Below(i + 1)]);
    shape += absl::StrCat("{", absl::StrJoin(layout, ","));
    if (Chance(2))
      shape += Pick<const char*>({":T(8,128)", ":S(1)", ":T(8,128)(2,1)S(3)", ":E(4)"});
    return shape + "}";
  }

  std::string Shape() {
    if (!Chance(5)) return ArrayShape();
    std::vector<std::string> parts;
    for (int i = Below(8); i > 0; --i) parts.push_back(ArrayShape());
    return absl::StrCat("(", absl::StrJoin(parts, ", "), ")");
  }

  std::string Constant() {
    const int kind = Below(4);
    if (kind == 0)
      return absl::StrCat("f32[] constant(", static_cast<double>(random_()) * 1e-7, ")");
    if (kind == 1) return "s32[2,2]{0,1} constant({{1,-2},{3,4}})";
    if (kind == 2) return "c64[2] constant({(1, nan), (-inf, 0.1)})";
    return "(f8e4m3fn[3], pred[]) constant(({1, 448, nan}, true))";
  }

  std::string Common() {
    std::string text;
    if (Chance(3)) {
      text += absl::StrCat(", metadata={op_name=\"a/", Below(100), "\" source_line=", 1 + Below(50),
                           "}");
    }
    if (Chance(5))
      text += Pick<const char*>(
          {", backend_config={\"x\":{\"y\":\"}\"}}", ", backend_config=\"\\001\\\"\\\\\""});
    if (Chance(6)) {
      text += Pick<const char*>({", sharding={replicated}", ", sharding={devices=[2,1]<=[2]}",
                                 ", sharding={maximal device=3}", ", sharding={manual}"});
    }
    if (Chance(8)) text += ", frontend_attributes={a=\"1\",b=\"2\"}";
    return text;
  }

  std::string Instruction(const std::vector<std::string>& names, int computation) {
    const auto operand = [&] {
      return names[static_cast<size_t>(Below(static_cast<int>(names.size())))];
    };
    switch (Below(9)) {
      case 0:
        return Constant();
      case 1:
        return absl::StrCat(Shape(), " add(", operand(), ", ", operand(), ")");
      case 2:
        return absl::StrCat(Shape(), " negate(", operand(), ")");
      case 3:
        return absl::StrCat(Shape(), " transpose(", operand(), "), dimensions={1,0}");
      case 4:
        return absl::StrCat(Shape(), " pad(", operand(), ", ", operand(), "), padding=0_1x-2_3_4");
      case 5:
        return absl::StrCat(Shape(), " compare(", operand(), ", ", operand(), "), direction=LT");
      case 6:
        if (computation > 0) {
          return absl::StrCat(Shape(), " fusion(", operand(), "), kind=kLoop, calls=c",
                              Below(computation));
        }
        return absl::StrCat(Shape(), " iota(), iota_dimension=0");
      case 7:
        return absl::StrCat(Shape(), " custom-call(", operand(), ", ", operand(), ", ", operand(),
                            ", ", operand(), ", ", operand(), ", ", operand(),
                            "), custom_call_target=\"t\\n\", custom_call_has_side_effect=true");
      default:
        return absl::StrCat(Shape(), " convolution(", operand(), ", ", operand(),
                            "), window={size=3x2 pad=1_0x0_-1 rhs_reversal=1x0}, "
                            "dim_labels=b01f_01io->b01f");
    }
  }

  std::string Computation(int number) {
    std::string text = absl::StrCat("c", number, " {\n");
    std::vector<std::string> names;
    const int parameters = 1 + Below(3);
    for (int i = 0; i < parameters; ++i) {
      names.push_back(absl::StrCat("p", number, ".", i));
      text +=
          absl::StrCat("  ", names.back(), " = ", Shape(), " parameter(", i, ")", Common(), "\n");
    }
    const int instructions = 1 + Below(12);
    const int root = Below(instructions);
    for (int i = 0; i < instructions; ++i) {
      const std::string line = Instruction(names, number) + Common();
      names.push_back(absl::StrCat("v", number, "_", i));
      if (i == root) text += "  ROOT";
      text += absl::StrCat("  ", names.back(), " = ", line, "\n");
    }
    return text + "}\n\n";
  }

  std::mt19937_64 random_;
};

TEST(PrinterTest, RandomModulesReadBack) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const std::string text = ModuleGenerator(seed).Module();
    const auto module = ParseHloText(text);
    ASSERT_TRUE(module.ok()) << module.status() << "\n" << text;
    const std::string printed = PrintHlo(**module);
    const auto again = ParseHloText(printed);
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << printed;
    EXPECT_EQ(PrintHlo(**again), printed);
    const proto::HloModuleProto expected = (*module)->ToProto();
    std::string difference;
    google::protobuf::util::MessageDifferencer differencer;
    differencer.set_message_field_comparison(google::protobuf::util::MessageDifferencer::EQUAL);
    google::protobuf::util::DefaultFieldComparator comparator;
    comparator.set_treat_nan_as_equal(true);
    differencer.set_field_comparator(&comparator);
    differencer.ReportDifferencesToString(&difference);
    ASSERT_TRUE(differencer.Compare(expected, (*again)->ToProto())) << difference << "\n" << text;
    const auto from_proto = HloModule::FromProto(expected);
    ASSERT_TRUE(from_proto.ok()) << from_proto.status();
    ASSERT_TRUE(differencer.Compare(expected, (*from_proto)->ToProto())) << difference << text;
  }
}

// XLA's parser takes "-0" for an integer, so the sign needs a point.
TEST(PrinterTest, NegativeZeroKeepsItsSign) {
  const auto module =
      ParseHloText("HloModule m\nENTRY e { ROOT c = f32[3] constant({-0, -0.0, 0}) }");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_THAT(PrintHlo(**module), ::testing::HasSubstr("constant({0, -0.0, 0})"));
}

// Kept text of the header ends with its last token: a remark behind it would swallow what follows.
TEST(PrinterTest, RemarksBehindKeptAttributesAreLeftOut) {
  const auto module = ParseHloText(
      "HloModule m, entry_computation_layout={()->f32[]{:S(5)}}, "
      "allow_spmd_sharding_propagation_to_output={true} // a remark\n\n"
      "ENTRY e { ROOT c = f32[] constant(1) }");
  ASSERT_TRUE(module.ok()) << module.status();
  const std::string printed = PrintHlo(**module);
  EXPECT_THAT(printed, ::testing::Not(::testing::HasSubstr("remark")));
  EXPECT_THAT(printed, ::testing::HasSubstr("entry_computation_layout={()->f32[]{:S(5)}}\n"));
}

TEST(PrinterTest, MetadataPayloadsAreWrittenInPlace) {
  const auto module = ParseHloText(
      "HloModule m\nENTRY e { a = f32[] parameter(0), metadata={metadata_payload=\"x\"} "
      "ROOT b = f32[] negate(a), metadata={op_name=\"n\" metadata_payload=\"x\"} }");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->ToProto().payloads_size(), 1);
  EXPECT_THAT(PrintHlo(**module),
              ::testing::HasSubstr("metadata={op_name=\"n\" metadata_payload=\"x\"}"));
}

TEST(PrinterTest, ShortFormLeavesDetailsOut) {
  const auto module = ParseHloText(R"(HloModule m
ENTRY e {
  a = s32[12]{0} constant({1,2,3,4,5,6,7,8,9,10,11,12}), metadata={op_name="x"}
  ROOT b = s32[12]{0} negate(a), backend_config="y"
})");
  ASSERT_TRUE(module.ok());
  const std::string text = PrintHlo(**module, PrintOptions::Short());
  EXPECT_THAT(text, HasSubstr("ROOT b = s32[12]{0} negate(a)\n"));
  EXPECT_THAT(text, HasSubstr("a = s32[12]{0} constant({...})\n"));
  EXPECT_THAT(text, Not(HasSubstr("metadata")));
  EXPECT_THAT(text, Not(HasSubstr("backend_config")));
}

TEST(PrinterTest, CanonicalFormDoesNotDependOnNames) {
  const auto print = [](const std::string& text) {
    const auto module = ParseHloText(text);
    EXPECT_TRUE(module.ok()) << module.status();
    return PrintHlo(**module, PrintOptions::Canonical());
  };
  const std::string a = print(
      "HloModule x\nf { p = f32[] parameter(0) ROOT n = f32[] negate(p) }\n"
      "ENTRY g { a = f32[] parameter(0) ROOT b = f32[] call(a), to_apply=f }");
  const std::string b = print(
      "HloModule y\nu { r = f32[] parameter(0) ROOT s = f32[] negate(r) }\n"
      "ENTRY v { t = f32[] parameter(0), metadata={op_name=\"z\"} "
      "ROOT w = f32[] call(t), to_apply=u }");
  EXPECT_EQ(a, b);
  EXPECT_TRUE(ParseHloText(a).ok()) << a;
}

}  // namespace
}  // namespace autotune
