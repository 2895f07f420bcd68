#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// Names of the columns of a report, beside axes, facts and metrics, in the order in which docs/reports.md explains them.
const std::vector<std::string>& report_column_names();

/// The column whose heading in a table is `heading`: `train_loss` of `train loss`, and `scale` of the unit that the report
/// scales by. Empty if there is none.
std::string column_of_heading(std::string_view heading, std::string_view scale_by);

/// One entry of report.columns and of --columns: a name, and a heading of one's own after `=`.
struct ShownColumn {
  // `column:n`, `fact:device` and `metric:f1` say it; else an axis goes before a column.
  enum class Kind { axis_or_column, column, fact, metric };
  Kind kind = Kind::axis_or_column;
  std::string name;                    // without `column:`, `fact:` and `metric:`
  std::optional<std::string> heading;  // `median=Tiempo (min)`
};
ShownColumn parse_shown_column(std::string_view entry);

/// One entry of report.sort and of --sort: an axis, column or metric, `-` in front for the largest first. Without a heading:
/// with a `=` it names nothing.
struct SortKey {
  ShownColumn column;
  bool descending = false;
};
SortKey parse_sort_key(std::string_view entry);

}  // namespace hpcbench
