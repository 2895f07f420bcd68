#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "report/columns.hpp"

namespace hpcbench {
namespace {

/// What a row is sorted by under one key: numbers before texts, absent ones last.
struct SortValue {
  bool is_absent = true;
  std::optional<Value> value;    // of an axis
  std::optional<double> number;  // of a column
  std::string text;              // of a column without numbers
};

SortValue sort_value(const Table& table, const Row& row, const std::string& name) {
  SortValue result;
  if (std::find(table.axes.begin(), table.axes.end(), name) != table.axes.end()) {
    if (const Value* value = find_binding(row.axes, name)) result.value = *value;
    result.is_absent = !result.value;
    return result;
  }
  if (std::find(table.derived.begin(), table.derived.end(), name) != table.derived.end()) {
    if (const Value* value = find_binding(row.derived, name)) result.value = *value;
    result.is_absent = !result.value;
    return result;
  }
  const Column& column = *find_column(name);
  if (column.number != nullptr) {
    result.number = column.number(row);
    result.is_absent = !result.number;
  } else {
    result.text = column.cell(table, row, {});
    result.is_absent = result.text == "-";
  }
  return result;
}

/// Below, equal or above 0 for a before, level with or after b.
int compare_present(const SortValue& a, const SortValue& b) {
  if (a.value) return *a.value == *b.value ? 0 : std::is_lt(*a.value <=> *b.value) ? -1 : 1;
  if (a.number) return *a.number < *b.number ? -1 : *a.number > *b.number ? 1 : 0;
  return a.text.compare(b.text);
}

}  // namespace

void require_sort_keys(const std::vector<std::string>& keys, const std::vector<std::string>& axes, std::string_view where) {
  for (const std::string& entry : keys) {
    const std::string name = parse_sort_key(entry).name;
    if (std::find(axes.begin(), axes.end(), name) != axes.end() || find_column(name) != nullptr) continue;
    std::vector<std::string> known = axes;
    for (const Column& column : all_columns()) known.emplace_back(column.name);
    throw InputError(fmt::format("error: {} names `{}`, which is neither an axis nor a column{}; there are: {}", where, name,
                                 did_you_mean(name, known), join(known, ", ")));
  }
}

void sort_rows_by(Table& table, const std::vector<std::string>& keys) {
  // The last key first: each pass keeps the order of those before it among equals.
  for (auto entry = keys.rbegin(); entry != keys.rend(); ++entry) {
    const SortKey key = parse_sort_key(*entry);
    std::vector<std::pair<SortValue, std::size_t>> order;
    order.reserve(table.rows.size());
    for (const Row& row : table.rows) order.emplace_back(sort_value(table, row, key.name), order.size());
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
