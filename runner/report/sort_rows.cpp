#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "report/columns.hpp"

namespace hpcbench {
namespace {

bool stands_among(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The sort value of a row under one key: numbers before texts, absent ones last.
struct SortValue {
  bool is_absent = true;
  std::optional<Value> value;    // of an axis
  std::optional<double> number;  // of a column or metric
  std::string text;              // of a column without numbers
};

SortValue sort_value(const Table& table, const Row& row, const ShownColumn& key) {
  const std::string& name = key.name;
  SortValue result;
  const bool is_axis = stands_among(name, table.axes);
  if (key.kind == ShownColumn::Kind::axis_or_column && (is_axis || stands_among(name, table.derived))) {
    if (const Value* value = find_binding(is_axis ? row.axes : row.derived, name)) result.value = *value;
    result.is_absent = !result.value;
    return result;
  }
  const Column* const column = key.kind == ShownColumn::Kind::metric ? nullptr : find_column(name, table.scale_by);
  if (column != nullptr && column->number == nullptr) {
    result.text = column->cell(table, row, {});
    result.is_absent = result.text == "-";
    return result;
  }
  if (column != nullptr) {
    result.number = column->number(row);
  } else if (const auto found = row.metrics.find(name); found != row.metrics.end()) {
    result.number = found->second;
  }
  result.is_absent = !result.number;
  return result;
}

/// Returns a number below, equal to or above 0 for a before, level with or after b.
int compare_present(const SortValue& a, const SortValue& b) {
  if (a.value) return *a.value == *b.value ? 0 : std::is_lt(*a.value <=> *b.value) ? -1 : 1;
  if (a.number) return *a.number < *b.number ? -1 : *a.number > *b.number ? 1 : 0;
  return a.text.compare(b.text);
}

}  // namespace

void require_sort_keys(const std::vector<std::string>& keys, const std::vector<std::string>& axes,
                       const std::vector<std::string>& metrics, std::string_view scale_by) {
  for (const std::string& entry : keys) {
    const ShownColumn key = parse_sort_key(entry).column;
    if (key.kind == ShownColumn::Kind::metric) continue;
    if (key.kind != ShownColumn::Kind::fact && find_column(key.name, scale_by) != nullptr) continue;
    std::vector<std::string> known = axes;
    for (const Column& column : all_columns()) known.emplace_back(column.name);
    known.insert(known.end(), metrics.begin(), metrics.end());
    if (key.kind == ShownColumn::Kind::axis_or_column && stands_among(key.name, known)) continue;
    throw InputError(
        fmt::format("error: rows cannot be sorted by `{}`, which is no axis, no column and no metric of these runs{}; "
                    "there are: {}",
                    key.name, did_you_mean(key.name, known), join(known, ", ")));
  }
}

std::vector<std::string> metrics_sorted_by(const std::vector<std::string>& keys, const std::vector<std::string>& axes,
                                           std::string_view scale_by) {
  std::vector<std::string> metrics;
  for (const std::string& entry : keys) {
    const ShownColumn key = parse_sort_key(entry).column;
    const bool is_bare = key.kind == ShownColumn::Kind::axis_or_column && !stands_among(key.name, axes) &&
                         find_column(key.name, scale_by) == nullptr;
    if (is_bare || key.kind == ShownColumn::Kind::metric) metrics.push_back(key.name);
  }
  return metrics;
}

void sort_rows_by(Table& table, const std::vector<std::string>& keys) {
  // The last key first: each pass keeps the earlier order among equals.
  for (auto entry = keys.rbegin(); entry != keys.rend(); ++entry) {
    const SortKey key = parse_sort_key(*entry);
    std::vector<std::pair<SortValue, std::size_t>> order;
    order.reserve(table.rows.size());
    for (const Row& row : table.rows) order.emplace_back(sort_value(table, row, key.column), order.size());
    std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
      if (a.first.is_absent || b.first.is_absent) return !a.first.is_absent && b.first.is_absent;
      const int comparison = compare_present(a.first, b.first);
      return key.descending ? comparison > 0 : comparison < 0;
    });
    std::vector<Row> sorted;
    sorted.reserve(table.rows.size());
    for (const auto& [value, index] : order) sorted.push_back(std::move(table.rows[index]));
    table.rows = std::move(sorted);
  }
}

}  // namespace hpcbench
