#ifndef AUTOTUNE_TUNER_HTML_PAGE_H_
#define AUTOTUNE_TUNER_HTML_PAGE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "hardware/measurement.h"
#include "nlohmann/json.hpp"

namespace autotune {

// The parts that the HTML reports are made of. All text that is passed in is escaped here, once, so
// that names from untrusted programs stay names.

// `text` for the inside of an element or of a quoted attribute.
std::string EscapeHtml(absl::string_view text);

// JSON for the inside of a <script> element: pure ASCII without '<', '>' and '&'. Bytes that are no
// UTF-8 are replaced.
std::string JsonForScript(const nlohmann::json& json);

// `value` with six significant digits, so that a report of many points stays small.
double Rounded(double value);

// A table. Not thread-safe.
class HtmlTable {
 public:
  enum class Cell { kText, kNumber, kName, kKey, kBar };

  // The next column. REQUIRES: before the first row.
  HtmlTable& Column(absl::string_view title, Cell kind = Cell::kNumber);
  // The next row.
  HtmlTable& Row();
  // The row's next cell. REQUIRES: no more than there are columns.
  HtmlTable& Add(absl::string_view text);
  // The same with a class of the style sheet: "good", "bad".
  HtmlTable& Add(absl::string_view text, absl::string_view css_class);
  // A label beside the text of the last cell.
  HtmlTable& Tag(absl::string_view text);
  // The row's next cell: a bar of this share (0 to 1) with its percentage.
  HtmlTable& Bar(double share);

  size_t rows() const { return rows_.size(); }

  // The table as a panel of its own.
  std::string ToHtml() const;

 private:
  std::vector<Cell> kinds_;
  std::string head_;
  std::vector<std::vector<std::string>> rows_;  // cells as HTML
};

// The one figure that a page is about.
struct HtmlHero {
  std::string label;     // what it is
  std::string value;     // "1.10x"
  std::string interval;  // "1.08x to 1.12x with 95 % confidence"; may be empty
  std::string sentence;
  bool estimate = false;  // looks like one
};

// A rung of a ladder: a value as a bar from zero, longest last or first as given.
struct HtmlRung {
  std::string name;
  double value = 0;
  std::string text;   // of the value
  std::string note;   // "1.10x"; may be empty
  std::string color;  // "soft" or a colour's number
  bool emphasised = false;
};

// A part of a whole.
struct HtmlPart {
  std::string name;
  double value = 0;
  std::string color;  // "soft" or a colour's number
};

// What a chart's axis shows: see report.js.
struct ChartAxis {
  std::string label;
  std::string format = "number";  // number, count, seconds, quantity, ratio
  bool log = false;
  std::optional<double> min;
  std::optional<double> max;
};
nlohmann::json ToJson(const ChartAxis& axis);

// A page that needs nothing but itself. Not thread-safe.
class HtmlPage {
 public:
  // `subtitle` is a line under the title.
  HtmlPage(absl::string_view title, absl::string_view subtitle);

  // The banner that says whether times are hardware's or estimates; `what` names the device.
  void SourceBanner(TimeSource source, bool recorded, absl::string_view what);

  // A heading, which the page's navigation links to.
  void Section(absl::string_view title);
  // The figure that the page is about, with `ladder` beside it.
  void Hero(const HtmlHero& hero, const std::vector<HtmlRung>& ladder);
  void Paragraph(absl::string_view text);
  void Table(const HtmlTable& table) { Raw(table.ToHtml()); }
  // Behind a line that opens it.
  void FoldedTable(absl::string_view summary, const HtmlTable& table);
  // What stands between these two is behind a line that opens it, and open at first if so wanted.
  void BeginDetails(absl::string_view summary, absl::string_view note, bool open);
  void EndDetails() { Raw("</details>\n"); }
  void Notes(const std::vector<std::string>& notes);

  // Cards stand between these two.
  void BeginCards() { Raw("<div class=\"cards\">"); }
  void Card(absl::string_view label, absl::string_view value, absl::string_view note,
            bool main = false);
  void EndCards() { Raw("</div>\n"); }

  // Charts stand between these two. `spec` is the description that report.js draws, without "id";
  // `height` in pixels, 0 for the usual.
  void BeginCharts() { Raw("<div class=\"charts\">"); }
  void Chart(absl::string_view title, absl::string_view caption, nlohmann::json spec,
             int height = 0);
  // The same over the whole width of the page.
  void WideChart(absl::string_view title, absl::string_view caption, nlohmann::json spec,
                 int height = 0);
  // A figure that needs no script stands between these two.
  void BeginFigure(absl::string_view title);
  void EndFigure() { Raw("</figure>\n"); }
  // A bar of parts with a legend that has their values and percentages; nothing if all are zero.
  void SplitBar(absl::string_view title, const std::vector<HtmlPart>& parts,
                const std::function<std::string(double)>& format);
  void EndCharts() { Raw("</div>\n"); }

  // Names with values.
  void BeginFacts() { Raw("<div class=\"panel\"><dl>"); }
  void Fact(absl::string_view name, absl::string_view value);
  void EndFacts() { Raw("</dl></div>\n"); }

  // A command with a button that copies it; nothing for an empty one.
  void Command(absl::string_view title, absl::string_view command);

  // The table of candidates that report.js fills: {"columns", "rows", "kernels"}, where the fourth
  // column is the fate.
  void Candidates(nlohmann::json candidates, const std::vector<std::string>& fates);

  // The whole document. `footer` is its last line.
  std::string Finish(absl::string_view footer) const;

 private:
  void Raw(absl::string_view html) { body_.append(html.data(), html.size()); }
  void AddChart(absl::string_view title, absl::string_view caption, nlohmann::json spec, int height,
                absl::string_view css_class);

  std::string title_;
  std::string header_;
  std::vector<std::string> sections_;
  std::string body_;
  nlohmann::json charts_ = nlohmann::json::array();
  nlohmann::json candidates_;
};

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_HTML_PAGE_H_
