#include "report/plots/plot_labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "base/value.hpp"
#include "report/escapes.hpp"

namespace hpcbench {
namespace {

constexpr std::size_t kLongestLabel = 48;
constexpr std::size_t kLongestValue = 20;

/// The values of one column, one per row.
using Values = std::vector<std::string>;

Values values_of(const std::string& column, const std::vector<const Row*>& rows) {
  Values values;
  for (const Row* row : rows) {
    const Value* value = find_binding(row->axes, column);
    values.push_back(value == nullptr ? "-" : value->text());
  }
  return values;
}

bool all_equal(const Values& values) {
  return std::all_of(values.begin(), values.end(), [&](const std::string& value) { return value == values.front(); });
}

/// Returns the length in bytes of the common beginning of all values, in whole words and folders.
std::size_t shared_beginning(const Values& values) {
  std::size_t shared = values.front().size();
  for (const std::string& value : values) {
    const auto differ = std::mismatch(values.front().begin(), values.front().begin() + static_cast<std::ptrdiff_t>(shared),
                                      value.begin(), value.end());
    shared = static_cast<std::size_t>(differ.first - values.front().begin());
  }
  const std::size_t boundary = std::string_view(values.front()).substr(0, shared).find_last_of("/_-. ");
  return boundary == std::string_view::npos ? 0 : boundary + 1;
}

void shorten(Values& values) {
  const bool is_long = std::any_of(values.begin(), values.end(),
                                   [](const std::string& value) { return character_count(value) > kLongestValue; });
  if (!is_long || all_equal(values)) return;
  const std::size_t shared = shared_beginning(values);
  if (shared < 2) return;
  for (std::string& value : values) value = "…" + value.substr(shared);
}

void number_equal(std::vector<std::string>& texts) {
  std::map<std::string, int> counts;
  for (const std::string& text : texts) ++counts[text];
  std::map<std::string, int> seen;
  for (std::string& text : texts) {
    if (counts[text] > 1) text = fmt::format("{} ({})", text, ++seen[text]);
  }
}

}  // namespace

PlotLabels plot_labels(const std::vector<std::string>& columns, const std::vector<const Row*>& rows) {
  PlotLabels labels;
  labels.texts.resize(rows.size());
  if (rows.empty()) return labels;
  std::vector<std::string> shown;
  std::copy_if(columns.begin(), columns.end(), std::back_inserter(shown),
               [&](const std::string& column) { return !all_equal(values_of(column, rows)); });
  if (shown.empty()) shown = columns;
  for (const std::string& column : shown) {
    Values values = values_of(column, rows);
    shorten(values);
    for (std::size_t i = 0; i < rows.size(); ++i) labels.texts[i] += (labels.texts[i].empty() ? "" : ", ") + values[i];
  }
  if (shown.empty()) {
    for (std::size_t i = 0; i < rows.size(); ++i) labels.texts[i] = rows[i]->config_id;
  }
  for (std::string& text : labels.texts) text = elide(text, kLongestLabel);
  number_equal(labels.texts);
  labels.heading = elide(join(shown, ", "), kLongestLabel);
  return labels;
}

}  // namespace hpcbench
