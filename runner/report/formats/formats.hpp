#pragma once

#include <string>

namespace hpcbench {

struct Table;

/// For people: aligned by what characters take on a terminal.
std::string print_text(const Table& table);
/// A GitHub table; what Markdown would read as markup is escaped.
std::string print_markdown(const Table& table);
/// RFC 4180 with the table's rounded values, in its time unit: all columns, or those of --columns and the warnings.
std::string print_csv(const Table& table);
/// Full precision (the shortest digits that read back as the same double), times in seconds, absent = null.
/// docs/report.schema.json says what is in it.
std::string print_json(const Table& table);
/// One file that needs nothing else: sortable tables, the pictures of Table::plots, warnings, environment, every run with its
/// outcome and, where Table::runs_path is given, a link to its folder. Its frame is Table::page_template
/// (templates/report.html.mustache); InputError without one.
std::string print_html(const Table& table);
/// Tables with booktabs, to be included by a document; what TeX would read as a command is escaped.
std::string print_latex(const Table& table);

}  // namespace hpcbench
