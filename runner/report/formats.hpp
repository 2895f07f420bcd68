#pragma once

#include <string>

namespace hpcbench {

struct Table;

/// For people: aligned by what characters take on a terminal.
std::string print_text(const Table& table);
/// A GitHub table; what Markdown would read as markup is escaped.
std::string print_markdown(const Table& table);
/// RFC 4180 with the table's rounded values, in its time unit: all columns, whatever report.columns says.
std::string print_csv(const Table& table);
/// Full precision (the shortest digits that read back as the same double), times in seconds, absent = null.
std::string print_json(const Table& table);

}  // namespace hpcbench
