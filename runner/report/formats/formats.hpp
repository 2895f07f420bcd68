#pragma once

#include <string>

namespace hpcbench {

struct Table;
struct PrintSettings;

/// Returns text for people, aligned by the characters' widths on a terminal.
std::string print_text(const Table& table, const PrintSettings& settings);
/// Returns a GitHub table with markup escaped.
std::string print_markdown(const Table& table, const PrintSettings& settings);
/// Returns RFC 4180 with the table's rounded values, in its time unit: all columns, or those of --columns and the warnings.
std::string print_csv(const Table& table, const PrintSettings& settings);
/// Returns JSON in full precision (the shortest digits that read back as the same double), times in seconds, null for absent
/// values. docs/report.schema.json describes it.
std::string print_json(const Table& table, const PrintSettings& settings);
/// Returns one self-contained page: sortable tables, the pictures of PrintSettings::plots, warnings, environment, every run
/// with its outcome and, if PrintSettings::runs_path is given, a link to its folder. PrintSettings::page_template
/// (templates/report.html.mustache) is its frame; InputError without one.
std::string print_html(const Table& table, const PrintSettings& settings);
/// Returns tables with booktabs for inclusion in a document; commands of TeX are escaped.
std::string print_latex(const Table& table, const PrintSettings& settings);

}  // namespace hpcbench
