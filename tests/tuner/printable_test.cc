#include "tuner/printable.h"

#include <cmath>
#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tuner/html_page.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

TEST(PrintableTextTest, LeavesTextAsItIs) {
  for (const std::string text : {"", "fusion.191", "größer 大 🙂", "two\nlines\tand a tab"}) {
    EXPECT_EQ(PrintableText(text), text);
  }
}

TEST(PrintableTextTest, WritesControlCharactersOut) {
  EXPECT_EQ(PrintableText("\x1b[31mred\x1b[0m"), "\\x1b[31mred\\x1b[0m");
  EXPECT_EQ(PrintableText("over\rwritten\b\x7f"), "over\\x0dwritten\\x08\\x7f");
  EXPECT_EQ(PrintableText("c1 \xc2\x9b"), "c1 \\xc2\\x9b");
  EXPECT_EQ(PrintableText(absl::string_view("nul\0", 4)), "nul\\x00");
}

TEST(PrintableTextTest, WritesBytesThatAreNoUtf8Out) {
  EXPECT_EQ(PrintableText("\xff"), "\\xff");
  EXPECT_EQ(PrintableText("cut \xe2\x82"), "cut \\xe2\\x82");
  EXPECT_EQ(PrintableText("overlong \xc0\x9b"), "overlong \\xc0\\x9b");
  EXPECT_EQ(PrintableText("overlong \xe0\x82\x9b"), "overlong \\xe0\\x82\\x9b");
  EXPECT_EQ(PrintableText("surrogate \xed\xa0\x80"), "surrogate \\xed\\xa0\\x80");
  EXPECT_EQ(PrintableText("beyond \xf4\x90\x80\x80"), "beyond \\xf4\\x90\\x80\\x80");
}

TEST(PrintableTextTest, WritesOutWhatReordersOrHides) {
  EXPECT_EQ(PrintableText("a\u202egpj.exe"), "a\\u202egpj.exe");
  EXPECT_EQ(PrintableText("zero\u200bwidth\ufeff"), "zero\\u200bwidth\\ufeff");
  EXPECT_EQ(PrintableText("line\u2028end"), "line\\u2028end");
}

TEST(PrintableTextTest, TwiceIsTheSameAsOnce) {
  const std::string once = PrintableText("\x1b]0;\xff\u202e");
  EXPECT_EQ(PrintableText(once), once);
}

TEST(PrintableLineTest, HasNoLineBreaks) {
  EXPECT_EQ(PrintableLine("a\nb\tc\r"), "a\\nb\\tc\\x0d");
}

TEST(DumpJsonTest, IsAsciiWhateverTheTextIs) {
  EXPECT_EQ(DumpJson({{"n", "\x1b\xff\xc2\x9b\u202e"}}, -1),
            "{\"n\":\"\\u001b\\ufffd\\u009b\\u202e\"}");
}

TEST(TextTableTest, CellsCannotBreakTheTable) {
  TextTable table;
  table.Column("name", TextTable::Align::kLeft).Column("n");
  table.Row({"a\nb\x1b[2J", "1"});
  EXPECT_EQ(table.ToString(), "name         n\na\\nb\\x1b[2J  1\n");
}

TEST(EscapeHtmlTest, WritesControlCharactersOut) {
  EXPECT_EQ(EscapeHtml("<\x1b[2J>"), "&lt;\\x1b[2J&gt;");
}

TEST(FormatSecondsTest, StaysReadableAtTheEnds) {
  EXPECT_EQ(FormatSeconds(0), "0 ns");
  EXPECT_EQ(FormatSeconds(137.344e-6), "137.3 us");
  EXPECT_EQ(FormatSeconds(3.2), "3.200 s");
  EXPECT_EQ(FormatSeconds(86400), "86400 s");
  EXPECT_EQ(FormatSeconds(1e21), "1.000e+21 s");
  EXPECT_EQ(FormatSeconds(1e-20), "1.000e-20 s");
  EXPECT_EQ(FormatSeconds(INFINITY), "-");
  EXPECT_EQ(FormatSeconds(NAN), "-");
}

TEST(FormatSpeedupTest, StaysReadableAtTheEnds) {
  EXPECT_EQ(FormatSpeedup(1.1), "1.10x");
  EXPECT_EQ(FormatSpeedup(1e21), "1e+21x");
  EXPECT_EQ(FormatSpeedup(NAN), "-");
}

TEST(FormatQuantityTest, StaysReadableAtTheEnds) {
  EXPECT_EQ(FormatQuantity(12.3e6), "12.3 M");
  EXPECT_EQ(FormatQuantity(1e30), "1e+15 P");
  EXPECT_EQ(FormatQuantity(0), "0");
}

}  // namespace
}  // namespace autotune
