#include <fmt/format.h>

#include <algorithm>
#include <kainjow/mustache.hpp>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/url.hpp"
#include "report/cells.hpp"
#include "report/columns.hpp"
#include "report/escapes.hpp"
#include "report/formats/formats.hpp"
#include "report/formats/inline_svg.hpp"
#include "report/methods.hpp"
#include "report/samples.hpp"
#include "report/table.hpp"

namespace hpcbench {
namespace {

std::string html_cell(const std::string& cell, const std::optional<double>& number, bool is_number) {
  const std::string sort = number ? fmt::format(" data-sort=\"{}\"", *number) : cell == kAbsentCell ? " data-sort=\"\"" : "";
  // A short text, such as an axis, stays on one line: a browser would break it at its hyphens.
  constexpr std::size_t kOneLine = 32;
  const char* kind = is_number ? " class=\"number\"" : character_count(cell) <= kOneLine ? " class=\"axis\"" : "";
  return fmt::format("<td{}{}>{}</td>", kind, sort, escape_html(cell));
}

std::string html_header(const std::vector<std::pair<std::string, bool>>& columns) {
  std::string out = "<thead><tr>";
  for (const auto& [heading, is_number] : columns) {
    out += fmt::format("<th scope=\"col\"{}><button type=\"button\">{}</button></th>", is_number ? " class=\"number\"" : "",
                       escape_html(heading));
  }
  return out + "</tr></thead>\n";
}

/// Returns a table. `caption` is its name for screen readers.
std::string html_table(const std::string& caption_text, const std::vector<std::pair<std::string, bool>>& columns,
                       const std::string& body) {
  return "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"" + escape_html(caption_text) +
         "\"><table class=\"sortable\"><caption>" + escape_html(caption_text) + "</caption>\n" + html_header(columns) +
         "<tbody>\n" + body + "</tbody></table></div>\n";
}

std::string html_grid(const Grid& grid, const std::string& title) {
  std::vector<std::pair<std::string, bool>> columns;
  for (const GridColumn& column : grid.columns) columns.emplace_back(column.heading, column.is_number);
  std::string body;
  for (const GridRow& row : grid.rows) {
    body += row.row->is_baseline ? "<tr class=\"baseline\">" : "<tr>";
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      body += html_cell(row.cells[i], row.numbers[i], grid.columns[i].is_number);
    }
    body += "</tr>\n";
  }
  return html_table(grid.heading.empty() ? title : grid.heading, columns, body);
}

std::string html_grids(const Table& table) {
  constexpr std::size_t kRowsUnfolded = 200;
  std::string out;
  const std::string unit = table.unit == "s" ? table.time_unit : table.unit;
  for (const Grid& grid : make_grids(table)) {
    const std::string html = html_grid(grid, shown_metric(table) + (unit.empty() ? "" : " (" + unit + ")"));
    const bool folded = grid.is_further && grid.rows.size() > kRowsUnfolded;
    out += !folded ? html
                   : fmt::format("<details><summary>{}: {} rows</summary>\n{}</details>\n", escape_html(grid.heading),
                                 grid.rows.size(), html);
  }
  return out;
}

std::string html_outcome(State outcome) {
  return fmt::format("<td class=\"{}\">{}</td>", outcome == State::succeeded ? "good" : "bad", to_string(outcome));
}

/// Returns seconds in the report's unit of time, as its table shows them.
std::string time_of_run(const Table& table, double seconds) {
  if (table.time_unit == "h:mm:ss") return clock_text(seconds);
  return fmt::format("{:.6g}", seconds / (table.time_unit == "h" ? 3600 : table.time_unit == "min" ? 60 : 1));
}

std::string value_of_run(const Table& table, double value) {
  return table.unit == "s" ? time_of_run(table, value) : fmt::format("{:.6g}", value);
}

std::string html_run(const Table& table, const Row& row, const RunValue& run, bool set_aside, const std::string& runs_path) {
  const std::string name = fmt::format("{}/{}/a{}", row.config_id, to_string(run.run), run.attempt);
  std::string out = "<tr><td>" + escape_html(row_label(table.columns, row)) + "</td><td>";
  out += runs_path.empty()
             ? escape_html(name)
             : fmt::format("<a href=\"{}\">{}</a>", escape_url("./" + runs_path + "/" + name + "/"), escape_html(name));
  if (!run.source.empty()) out += "<br><span class=\"source\">" + escape_html(run.source) + "</span>";
  out += "</td>" +
         (set_aside ? fmt::format("<td class=\"bad\">set aside ({})</td>", to_string(run.outcome)) : html_outcome(run.outcome));
  out += html_cell(run.value ? value_of_run(table, *run.value) : kAbsentCell, run.value, true);
  out += html_cell(run.wall_s ? time_of_run(table, *run.wall_s) : kAbsentCell, run.wall_s, true);
  out += html_cell(run.node.empty() ? kAbsentCell : run.node, std::nullopt, false);
  return out + html_cell(run.reason.empty() ? kAbsentCell : run.reason, std::nullopt, false) + "</tr>\n";
}

std::string html_runs(const Table& table, const PrintSettings& settings) {
  std::string body;
  for (const Row& row : table.rows) {
    for (const RunValue& run : row.runs) body += html_run(table, row, run, false, settings.runs_path);
    for (const RunValue& run : row.set_aside) body += html_run(table, row, run, true, settings.runs_path);
  }
  const std::string unit = table.unit == "s" ? table.time_unit : table.unit;
  const std::string note = settings.runs_note.empty() ? "" : "<p>" + escape_html(settings.runs_note) + "</p>\n";
  return note + html_table("every run",
                           {{"configuration", false},
                            {"run", false},
                            {"outcome", false},
                            {shown_metric(table) + (unit.empty() ? "" : " (" + unit + ")"), true},
                            {"wall_s (" + table.time_unit + ")", true},
                            {"node", false},
                            {"reason", false}},
                           body);
}

std::string html_list(const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string out = "<ul>\n";
  for (const std::string& line : lines) out += "<li>" + escape_html(line) + "</li>\n";
  return out + "</ul>\n";
}

/// Returns text of the program as HTML; a part in backticks is code that a user types.
std::string html_words(const std::string& text) {
  std::string out;
  bool inside = false;
  for (const char c : escape_html(text)) {
    if (c != '`') {
      out += c;
      continue;
    }
    out += inside ? "</code>" : "<code>";
    inside = !inside;
  }
  return inside ? escape_html(text) : out;  // an unpaired one is an ordinary character
}

std::string html_warnings(const Table& table) {
  if (table.warnings.empty()) return "<p>None.</p>\n";
  std::string out = "<ul class=\"warnings\">\n";
  for (const TableWarning& warning : table.warnings) {
    out +=
        fmt::format("<li><strong>{}</strong>: {}<br><span>Why it matters: {}.</span><br><span>What to do: {}.</span></li>\n",
                    escape_html(warning.code), escape_html(warning.seen), html_words(warning.why), html_words(warning.advice));
  }
  return out + "</ul>\n";
}

/// Returns the facts that all rows share, and the values of each fact that differs.
std::string html_environment(const Table& table) {
  std::map<std::string, std::set<std::string>> values;
  std::map<std::string, std::size_t> rows;
  std::size_t with_facts = 0;
  for (const Row& row : table.rows) {
    with_facts += row.facts.empty() ? 0 : 1;
    for (const auto& [name, value] : row.facts) {
      if (name.starts_with("printed_")) continue;  // a value of a metric, which the table shows
      values[name].insert(value);
      ++rows[name];
    }
  }
  if (values.empty()) return "<p>No run has recorded it.</p>\n";
  constexpr std::size_t kMostValues = 8;
  std::string body;
  for (const auto& [name, distinct] : values) {
    std::vector<std::string> texts;
    for (const std::string& text : distinct) {
      if (texts.size() < kMostValues) texts.push_back(text);
    }
    std::string text = join(texts, "; ");
    if (distinct.size() > kMostValues) text += fmt::format(" and {} more", distinct.size() - kMostValues);
    if (rows[name] < with_facts) text += fmt::format(" ({} of {} configurations record it)", rows[name], with_facts);
    body += "<tr><th scope=\"row\">" + escape_html(name) + "</th><td>" + escape_html(text) + "</td></tr>\n";
  }
  return "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"environment\"><table><caption>recorded by the "
         "runs</caption>\n<tbody>\n" +
         body + "</tbody></table></div>\n";
}

/// Returns the shown row with the largest speedup; null if no row has one.
const Row* best_row(const Table& table) {
  const Row* best = nullptr;
  for (const Row& row : table.rows) {
    if (!row.is_baseline && row.speedup && (!best || row.speedup->value > best->speedup->value)) best = &row;
  }
  return best;
}

/// Returns the metric, the largest speedup with its interval and n, and its limits; or why there is no answer.
std::string answer_sentence(const Table& table) {
  const bool any = std::any_of(table.rows.begin(), table.rows.end(), [](const Row& row) { return row.counts.n > 0; });
  if (has_warning(table, kNoSuccess)) return fmt::format("No run succeeded: there is no value of {}.", shown_metric(table));
  if (!any) return fmt::format("There is no answer yet: no run has a value of {}.", shown_metric(table));
  if (!table.has_speedup) {
    return fmt::format("No speedup in {}: {}.", shown_metric(table),
                       table.baseline.empty() ? "the experiment file has no `baseline`"
                                              : "neither its unit nor `better` tells which values are better");
  }
  const Row* best = best_row(table);
  if (!best)
    return fmt::format("Nothing can be compared in {}: no row beside the baseline has a speedup.", shown_metric(table));
  const CellStyle style = cell_style(table);
  const auto& interval = best->speedup->interval;
  std::string out =
      fmt::format("{}: of the rows shown, {} has the largest speedup over the baseline, {} ({}, n = {}).", shown_metric(table),
                  row_label(table.columns, *best), speedup_cell(table, *best, style),
                  interval ? "interval " + speedup_interval_cell(table, *best, style) : "no interval", best->counts.n);
  if (best->source != "measured") out += " It is of imported results.";
  if (!interval) return out + " Without an interval, it is unknown how much of it is chance.";
  if (!best->speedup->resolved.value_or(false)) return out + " The interval holds 1: no difference is shown.";
  if (best->speedup->value < 1) out += fmt::format(" It is {} than the baseline.", table.kind.scales ? "slower" : "worse");
  return out + " The interval holds for this row alone, not for the choice of the largest.";
}

std::string html_answer(const Table& table) {
  std::string out = "<p>" + escape_html(answer_sentence(table)) + "</p>\n";
  std::set<std::string> codes;
  for (const TableWarning& warning : table.warnings) codes.insert(warning.code);
  if (codes.empty()) return out;
  const std::string names = join(std::vector<std::string>(codes.begin(), codes.end()), ", ");
  const std::string link = "<a href=\"#warnings\">warnings</a>";
  const bool nothing = has_warning(table, kNoSuccess);
  return out + "<p>" + (nothing ? "The " + link + " give the reason: " : "Before you trust it, read the " + link + ": ") +
         escape_html(names) + ".</p>\n";
}

std::string html_plots(const PrintSettings& settings) {
  constexpr double kWide = 800;  // beside another picture its words would be too small
  std::string out;
  for (const PlotPicture& plot : settings.plots) {
    const InlinePicture picture = inline_svg(plot);
    out += fmt::format("<figure id=\"plot-{}\"{}>{}</figure>\n", escape_html(plot.name),
                       picture.width > kWide ? " class=\"wide\"" : "", picture.svg);
  }
  return out.empty() ? "<p>" + escape_html(settings.plots_note.empty() ? "None." : settings.plots_note) + "</p>\n" : out;
}

std::string html_sections(const Table& table, const PrintSettings& settings) {
  std::string out;
  for (const Section& section : sections(table, settings)) {
    out += "<details><summary>" + escape_html(section.title) + "</summary>\n" + html_list(section.lines) + "</details>\n";
  }
  return out;
}

/// Returns the folded explanation of the table; empty for a table without values.
std::string html_caption(const Table& table) {
  if (has_warning(table, kNoSuccess)) return "";
  const std::vector<std::string> lines = caption(table);
  return "<details class=\"soft\"><summary>How to read this table</summary>\n" +
         html_list(std::vector<std::string>(lines.begin() + 1, lines.end())) + "</details>\n";
}

}  // namespace

std::string print_html(const Table& table, const PrintSettings& settings) {
  if (settings.page_template.empty()) throw InputError("error: a page in HTML needs its template, report.html.mustache");
  kainjow::mustache::mustache page(settings.page_template);
  if (!page.is_valid()) throw InputError("error: report.html.mustache: " + page.error_message());
  kainjow::mustache::data data;
  data.set("title", escape_html(table_title(table)));
  data.set("description", escape_html(table.description));
  data.set("caption", html_caption(table));
  data.set("answer", html_answer(table));
  data.set("tables", html_grids(table));
  data.set("warnings", html_warnings(table));
  data.set("notes", html_list(table.notes));
  data.set("plots", html_plots(settings));
  data.set("sections", html_sections(table, settings));
  data.set("environment", html_environment(table));
  data.set("runs", html_runs(table, settings));
  data.set("hint", escape_html(tracing_hint(table)));
  page.set_custom_escape([](const std::string& text) { return text; });  // values are already HTML
  return page.render(data);
}

}  // namespace hpcbench
