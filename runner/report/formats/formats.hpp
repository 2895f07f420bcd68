#pragma once

#include <string>

namespace hpcbench {

struct Table;
struct PrintSettings;

/// For people: aligned by what characters take on a terminal.
std::string print_text(const Table& table, const PrintSettings& settings);
/// A GitHub table; what Markdown would read as markup is escaped.
std::string print_markdown(const Table& table, const PrintSettings& settings);
/// RFC 4180 with the table's rounded values, in its time unit: all columns, or those of --columns and the warnings.
std::string print_csv(const Table& table, const PrintSettings& settings);
/// Full precision (the shortest digits that read back as the same double), times in seconds, absent = null.
/// docs/report.schema.json says what is in it.
std::string print_json(const Table& table, const PrintSettings& settings);
/// One file that needs nothing else: sortable tables, the pictures of PrintSettings::plots, warnings, environment, every run
/// with its outcome and, where PrintSettings::runs_path is given, a link to its folder. Its frame is
/// PrintSettings::page_template (templates/report.html.mustache); InputError without one.
std::string print_html(const Table& table, const PrintSettings& settings);
/// Tables with booktabs, to be included by a document; what TeX would read as a command is escaped.
std::string print_latex(const Table& table, const PrintSettings& settings);

}  // namespace hpcbench
