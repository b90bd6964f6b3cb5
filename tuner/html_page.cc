#include "tuner/html_page.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tuner/printable.h"
#include "tuner/report_assets.h"

namespace autotune {
namespace {

absl::string_view CellClass(HtmlTable::Cell kind) {
  switch (kind) {
    case HtmlTable::Cell::kText:
      return "";
    case HtmlTable::Cell::kNumber:
      return "n";
    case HtmlTable::Cell::kName:
      return "name";
    case HtmlTable::Cell::kKey:
      return "key";
    case HtmlTable::Cell::kBar:
      return "share";
  }
  return "";
}

// A colour of the style sheet as a style.
std::string ColorStyle(const std::string& color) {
  const bool soft = color.empty() || color == "soft";
  return absl::StrCat("--color:var(--", soft ? "muted" : absl::StrCat("c", color), ")");
}

std::string PercentOf(double share) {
  if (share > 0 && share < 0.001) return "<0.1 %";
  return absl::StrFormat("%.*f %%", share < 0.0995 ? 1 : 0, 100 * share);
}

// Nothing is loaded from anywhere, whatever a name may hold.
constexpr char kPolicy[] =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'";

}  // namespace

std::string EscapeHtml(absl::string_view text) {
  // No page needs control characters, and a terminal would obey those of its source.
  return absl::StrReplaceAll(
      PrintableText(text),
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string JsonForScript(const nlohmann::json& json) {
  const std::string text =
      json.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace);
  return absl::StrReplaceAll(text, {{"<", "\\u003c"}, {">", "\\u003e"}, {"&", "\\u0026"}});
}

double Rounded(double value) {
  if (!std::isfinite(value)) return value;
  return std::strtod(absl::StrFormat("%.6g", value).c_str(), nullptr);
}

HtmlTable& HtmlTable::Column(absl::string_view title, Cell kind) {
  kinds_.push_back(kind);
  absl::StrAppend(&head_, "<th scope=\"col\"", kind == Cell::kNumber ? " class=\"n\"" : "", ">",
                  EscapeHtml(title), "</th>");
  return *this;
}

HtmlTable& HtmlTable::Row() {
  rows_.emplace_back();
  return *this;
}

HtmlTable& HtmlTable::Add(absl::string_view text) { return Add(text, ""); }

HtmlTable& HtmlTable::Add(absl::string_view text, absl::string_view css_class) {
  std::string cell = EscapeHtml(text);
  if (!css_class.empty()) cell = absl::StrCat("<span class=\"", css_class, "\">", cell, "</span>");
  rows_.back().push_back(std::move(cell));
  return *this;
}

HtmlTable& HtmlTable::Tag(absl::string_view text) {
  absl::StrAppend(&rows_.back().back(), " <span class=\"tag warn\">", EscapeHtml(text), "</span>");
  return *this;
}

HtmlTable& HtmlTable::Bar(double share) {
  const double width = std::clamp(share, 0.0, 1.0) * 100;
  rows_.back().push_back(
      absl::StrFormat("<span class=\"meter\"><i style=\"width:%.1f%%\"></i></span><span>%s</span>",
                      width, EscapeHtml(PercentOf(share))));
  return *this;
}

std::string HtmlTable::ToHtml() const {
  std::string html =
      absl::StrCat("<div class=\"panel", rows_.size() > 20 ? " long" : "",
                   "\"><div class=\"scroll\"><table><thead><tr>", head_, "</tr></thead><tbody>\n");
  for (const std::vector<std::string>& row : rows_) {
    absl::StrAppend(&html, "<tr>");
    for (size_t i = 0; i < kinds_.size(); ++i) {
      const absl::string_view css_class = CellClass(kinds_[i]);
      absl::StrAppend(&html, "<td");
      if (!css_class.empty()) absl::StrAppend(&html, " class=\"", css_class, "\"");
      absl::StrAppend(&html, ">", i < row.size() ? row[i] : "", "</td>");
    }
    absl::StrAppend(&html, "</tr>\n");
  }
  return absl::StrCat(html, "</tbody></table></div></div>\n");
}

nlohmann::json ToJson(const ChartAxis& axis) {
  nlohmann::json json = {{"label", axis.label}, {"format", axis.format}};
  if (axis.log) json["log"] = true;
  if (axis.min) json["min"] = *axis.min;
  if (axis.max) json["max"] = *axis.max;
  return json;
}

HtmlPage::HtmlPage(absl::string_view title, absl::string_view subtitle) : title_(title) {
  header_ = absl::StrCat("<header><h1>", EscapeHtml(title),
                         "</h1><button id=\"theme\" type=\"button\">Dark</button>"
                         "<p class=\"sub\">",
                         EscapeHtml(subtitle), "</p></header>\n");
}

void HtmlPage::SourceBanner(TimeSource source, bool recorded, absl::string_view what) {
  const bool hardware = source == TimeSource::kHardware;
  absl::string_view name = "ESTIMATE";
  absl::string_view meaning =
      "Times are derived from the compiler's static schedule. Only hardware settles them.";
  if (hardware) {
    name = recorded ? "HARDWARE RECORDING" : "HARDWARE";
    meaning = recorded ? "Times were measured on the device before and are replayed."
                       : "Times were measured on the device.";
  }
  Raw(absl::StrCat("<div class=\"source ", hardware ? "hardware" : "estimate", "\"><b>", name,
                   "</b><span>", EscapeHtml(what), "</span><span>", meaning, "</span></div>\n"));
}

void HtmlPage::Section(absl::string_view title) {
  Raw(absl::StrCat("<h2 id=\"s", sections_.size(), "\">", EscapeHtml(title), "</h2>\n"));
  sections_.emplace_back(title);
}

void HtmlPage::Hero(const HtmlHero& hero, const std::vector<HtmlRung>& ladder) {
  Raw(absl::StrCat("<section class=\"hero", hero.estimate ? " estimate" : "",
                   "\"><div><div class=\"label\">", EscapeHtml(hero.label),
                   "</div><div class=\"value\">", EscapeHtml(hero.value), "</div>"));
  if (!hero.interval.empty()) {
    Raw(absl::StrCat("<div class=\"interval\">", EscapeHtml(hero.interval), "</div>"));
  }
  Raw(absl::StrCat("<p>", EscapeHtml(hero.sentence), "</p></div>"));
  double longest = 0;
  for (const HtmlRung& rung : ladder) longest = std::max(longest, rung.value);
  if (longest > 0) Raw("<div class=\"ladder\">");
  for (const HtmlRung& rung : ladder) {
    if (!(longest > 0)) break;
    Raw(absl::StrCat("<div class=\"rung", rung.emphasised ? " main" : "", "\"><span>",
                     EscapeHtml(rung.name), "</span><span class=\"track\"><i style=\"",
                     absl::StrFormat("width:%.2f%%;", 100 * rung.value / longest),
                     ColorStyle(rung.color), "\"></i></span><b>", EscapeHtml(rung.text), "</b><em>",
                     EscapeHtml(rung.note), "</em></div>\n"));
  }
  if (longest > 0) Raw("</div>");
  Raw("</section>\n");
}

void HtmlPage::BeginFigure(absl::string_view title) {
  Raw(absl::StrCat("<figure><h3>", EscapeHtml(title), "</h3>"));
}

void HtmlPage::SplitBar(absl::string_view title, const std::vector<HtmlPart>& parts,
                        const std::function<std::string(double)>& format) {
  double all = 0;
  for (const HtmlPart& part : parts) all += part.value;
  if (!(all > 0)) return;
  Raw("<div class=\"split\">");
  if (!title.empty()) {
    Raw(absl::StrCat("<div class=\"head\"><span>", EscapeHtml(title), "</span><b>",
                     EscapeHtml(format(all)), "</b></div>"));
  }
  Raw("<div class=\"track\">");
  for (const HtmlPart& part : parts) {
    if (!(part.value > 0)) continue;
    Raw(absl::StrFormat("<i style=\"flex-grow:%.6g;%s\"></i>", part.value / all,
                        ColorStyle(part.color)));
  }
  Raw("</div><ul>");
  for (const HtmlPart& part : parts) {
    if (!(part.value > 0)) continue;
    Raw(absl::StrCat("<li style=\"", ColorStyle(part.color), "\"><span>", EscapeHtml(part.name),
                     "</span> <b>", EscapeHtml(format(part.value)), "</b> <em>",
                     EscapeHtml(PercentOf(part.value / all)), "</em></li>"));
  }
  Raw("</ul></div>\n");
}

void HtmlPage::Paragraph(absl::string_view text) {
  Raw(absl::StrCat("<p class=\"soft\">", EscapeHtml(text), "</p>\n"));
}

void HtmlPage::FoldedTable(absl::string_view summary, const HtmlTable& table) {
  Raw(absl::StrCat("<details class=\"panel long\"><summary>", EscapeHtml(summary), "</summary>",
                   table.ToHtml(), "</details>\n"));
}

void HtmlPage::BeginDetails(absl::string_view summary, absl::string_view note, bool open) {
  Raw(absl::StrCat("<details class=\"part\"", open ? " open" : "", "><summary><b>",
                   EscapeHtml(summary), "</b> <span class=\"soft\">", EscapeHtml(note),
                   "</span></summary>\n"));
}

void HtmlPage::Notes(const std::vector<std::string>& notes) {
  if (notes.empty()) return;
  Raw("<ul class=\"notes\">");
  for (const std::string& note : notes) Raw(absl::StrCat("<li>", EscapeHtml(note), "</li>"));
  Raw("</ul>\n");
}

void HtmlPage::Card(absl::string_view label, absl::string_view value, absl::string_view note,
                    bool main) {
  Raw(absl::StrCat("<div class=\"card", main ? " main" : "", "\"><div class=\"label\">",
                   EscapeHtml(label), "</div><div class=\"value\">", EscapeHtml(value),
                   "</div><div class=\"note\">", EscapeHtml(note), "</div></div>\n"));
}

void HtmlPage::AddChart(absl::string_view title, absl::string_view caption, nlohmann::json spec,
                        int height, absl::string_view css_class) {
  const std::string id = absl::StrCat("chart-", charts_.size());
  spec["id"] = id;
  Raw(absl::StrCat("<figure class=\"", css_class, "\"><h3>", EscapeHtml(title), "</h3>"));
  if (!caption.empty()) {
    Raw(absl::StrCat("<figcaption>", EscapeHtml(caption), "</figcaption>"));
  }
  Raw(absl::StrCat("<div class=\"plot\"",
                   height > 0 ? absl::StrCat(" style=\"--height:", height, "px\"") : "",
                   "><canvas id=\"", id, "\" role=\"img\" aria-label=\"", EscapeHtml(title),
                   "\"></canvas></div></figure>\n"));
  charts_.push_back(std::move(spec));
}

void HtmlPage::Chart(absl::string_view title, absl::string_view caption, nlohmann::json spec,
                     int height) {
  AddChart(title, caption, std::move(spec), height, height > 0 ? "tall" : "");
}

void HtmlPage::WideChart(absl::string_view title, absl::string_view caption, nlohmann::json spec,
                         int height) {
  AddChart(title, caption, std::move(spec), height, height > 0 ? "tall wide" : "wide");
}

void HtmlPage::Fact(absl::string_view name, absl::string_view value) {
  if (value.empty()) return;
  Raw(absl::StrCat("<dt>", EscapeHtml(name), "</dt><dd>", EscapeHtml(value), "</dd>\n"));
}

void HtmlPage::Command(absl::string_view title, absl::string_view command) {
  if (command.empty()) return;
  Raw(absl::StrCat("<h3 class=\"plain\">", EscapeHtml(title), "</h3><div class=\"command\"><pre>",
                   EscapeHtml(command), "</pre><button type=\"button\">Copy</button></div>\n"));
}

void HtmlPage::Candidates(nlohmann::json candidates, const std::vector<std::string>& fates) {
  candidates_ = std::move(candidates);
  Raw("<div class=\"panel long screen\"><div class=\"bar\">"
      "<input id=\"candidate-search\" type=\"search\" placeholder=\"Search\" "
      "aria-label=\"Search candidates\">"
      "<select id=\"candidate-fate\" aria-label=\"Fate\"><option value=\"\">every fate</option>");
  for (const std::string& fate : fates) {
    Raw(absl::StrCat("<option>", EscapeHtml(fate), "</option>"));
  }
  Raw("</select><span id=\"candidate-position\" class=\"soft\"></span>"
      "<button id=\"candidate-previous\" type=\"button\">Previous</button>"
      "<button id=\"candidate-next\" type=\"button\">Next</button></div>"
      "<div class=\"scroll\"><table id=\"candidates\"><thead></thead><tbody></tbody></table></div>"
      "</div>\n");
}

std::string HtmlPage::Finish(absl::string_view footer) const {
  nlohmann::json data = {{"charts", charts_}};
  if (!candidates_.is_null()) data["candidates"] = candidates_;
  std::string navigation;
  if (sections_.size() > 2) {
    navigation = "<nav aria-label=\"Sections\">";
    for (size_t i = 0; i < sections_.size(); ++i) {
      absl::StrAppend(&navigation, "<a href=\"#s", i, "\">", EscapeHtml(sections_[i]), "</a>");
    }
    absl::StrAppend(&navigation, "</nav>\n");
  }
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\" data-theme=\"light\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"",
      kPolicy,
      "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>",
      EscapeHtml(title_), "</title>\n<style>\n", ReportCss(), "</style>\n</head>\n<body>\n<main>\n",
      header_, navigation, body_, "<footer>", EscapeHtml(footer),
      "</footer>\n</main>\n"
      "<noscript><p>The charts and the table of candidates need JavaScript.</p></noscript>\n"
      "<script type=\"application/json\" id=\"report-data\">",
      JsonForScript(data), "</script>\n<script>\n", ChartJs(), "\n</script>\n<script>\n",
      ReportJs(), "</script>\n</body>\n</html>\n");
}

}  // namespace autotune
