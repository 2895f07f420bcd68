#include "imports/table_column.hpp"

#include <algorithm>
#include <utility>

#include "base/metric.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "ingest/metric_scan.hpp"

namespace hpcbench {

namespace {

bool is_metric_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

/// `ID`, `Run`, `Nodes`: a reserved word or an axis in other letters. A metric of exactly this name keeps it.
std::string in_known_letters(const std::string& heading, const std::vector<std::string>& axes, const Experiment& experiment) {
  if (experiment.find_metric(heading) != nullptr || std::find(axes.begin(), axes.end(), heading) != axes.end()) return heading;
  std::vector<std::string> words = {"file", "outcome", "statistic", "n", "note", "id", "run", "gpus", "ranks"};
  words.insert(words.begin(), axes.begin(), axes.end());
  const std::string lower = lower_case(heading);
  const auto found = std::find_if(words.begin(), words.end(), [&](const auto& word) { return lower_case(word) == lower; });
  return found == words.end() ? heading : *found;
}

/// `time [ms]`: the name and the unit. Parentheses hold a unit only where it is a known one: `loss (validation)`.
std::pair<std::string, std::string> split_unit(const std::string& heading) {
  std::pair<std::string, std::string> parts = {heading, ""};
  for (const auto& [open, close] : {std::pair('[', ']'), std::pair('(', ')')}) {
    const std::size_t bracket = heading.rfind(open);
    if (bracket == std::string::npos || !heading.ends_with(close)) continue;
    const std::string inner(trim(heading.substr(bracket + 1, heading.size() - bracket - 2)));
    if (open == '(' && !is_known_unit(inner) && other_spelling_of_unit(inner).empty()) continue;
    parts = {std::string(trim(heading.substr(0, bracket))), inner};
  }
  return parts;
}

/// Without regard to `columns`.
TableColumn any_column_of(const std::string& written, const std::vector<std::string>& axes, const Import& import,
                          const Experiment& experiment) {
  using Kind = TableColumn::Kind;
  const auto of_heading =
      std::find_if(import.headings.begin(), import.headings.end(), [&](const auto& each) { return each.second == written; });
  const bool is_mapped = of_heading != import.headings.end();
  const std::string heading = is_mapped ? written : in_known_letters(written, axes, experiment);
  auto [name, unit] = split_unit(heading);
  const std::string in_name = is_metric_name(name) ? unit_in_name(name) : "";
  if (is_mapped) name = of_heading->first;
  const bool is_axis = std::find(axes.begin(), axes.end(), name) != axes.end();
  if (is_axis && (is_mapped || name == heading)) return {Kind::axis, name, "", is_mapped};
  for (const auto& [word, kind] :
       {std::pair("file", Kind::file), std::pair("outcome", Kind::outcome), std::pair("statistic", Kind::statistic),
        std::pair("n", Kind::n), std::pair("note", Kind::note), std::pair("id", Kind::id), std::pair("run", Kind::id)}) {
    const bool may_be_mapped = kind == Kind::id || kind == Kind::outcome || import.lists_columns;
    if (is_mapped ? name == word && may_be_mapped : heading == word) return {kind, name, "", is_mapped};
  }
  if (is_mapped && name.starts_with("fact:")) return {Kind::fact, name.substr(5), "", true};
  if (heading.starts_with("fact:") && heading.size() > 5 && !is_mapped) return {Kind::fact, heading.substr(5), ""};
  if (!is_metric_name(name)) return {Kind::wrong, heading, ""};
  if (name.starts_with(kPublished)) return {Kind::fact, name, unit, is_mapped};
  if (name == "gpus" || name == "ranks") return {Kind::axis, name, "", is_mapped};
  if (is_mapped) return {Kind::metric, name, unit, true, unit.empty() && is_known_unit(in_name) ? in_name : ""};
  if (name.starts_with("rank_")) return {Kind::rank_times, name, ""};
  return {Kind::metric, name, unit};
}

}  // namespace

TableColumn column_of(const std::string& written, const std::vector<std::string>& axes, const Import& import,
                      const Experiment& experiment) {
  TableColumn column = any_column_of(written, axes, import, experiment);
  const bool is_named = column.kind == TableColumn::Kind::axis ||
                        (column.kind == TableColumn::Kind::metric &&
                         (experiment.find_metric(column.name) != nullptr || column.name == experiment.report_metric()));
  const bool has_another = import.headings.contains(column.name);
  if (import.lists_columns && !column.is_mapped && (!is_named || has_another)) column.kind = TableColumn::Kind::ignored;
  return column;
}

std::string suggested_name(const std::string& heading) {
  std::string name = heading;
  std::replace_if(
      name.begin(), name.end(),
      [](char c) {
        return !is_metric_name(std::string{'_', c});
      },
      '_');
  return is_metric_name(name) ? name : "value";
}

}  // namespace hpcbench
