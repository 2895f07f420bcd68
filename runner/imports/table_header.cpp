#include "imports/table_header.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <map>

#include "base/json_text.hpp"
#include "base/metric.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "ingest/attempt_record.hpp"
#include "spec/import_words.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kColumnsShown = 40;

std::optional<std::size_t> index_of(const std::vector<std::string>& cells, const std::string& heading) {
  const auto found = std::find(cells.begin(), cells.end(), heading);
  return found == cells.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - cells.begin()));
}

/// `contexts/*/name` for `contexts/0/name` and `contexts/1/name`.
std::string without_numbers(const std::string& heading) {
  std::vector<std::string> tokens = split(heading, '/');
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    if (json_array_index(tokens[i])) tokens[i] = "*";
  }
  return join(tokens, "/");
}

/// Returns the value that a pointer names in a cell with JSON, or that a pattern behind kPatternMark finds in any cell: its
/// group, else its match.
std::string text_of_member(const std::string& cell, const std::string& selector) {
  if (selector.front() != kPatternMark) return json_text_at(cell, selector).value_or("");
  const RE2 pattern(selector.substr(1), RE2::Quiet);
  std::vector<re2::StringPiece> groups(pattern.NumberOfCapturingGroups() > 0 ? 2 : 1);
  const bool is_found = pattern.Match(cell, 0, cell.size(), RE2::UNANCHORED, groups.data(), static_cast<int>(groups.size()));
  return is_found ? std::string(groups.back()) : "";
}

std::string shown(std::vector<std::string> names) {
  const std::size_t count = names.size();
  names.resize(std::min(count, kColumnsShown));
  return join(names, ", ") + (count > kColumnsShown ? fmt::format(" ... ({} in all)", count) : "");
}

}  // namespace

std::vector<std::string> wanted_headings(const Import& import) {
  std::vector<std::string> wanted;
  for (const auto& [name, heading] : import.headings) wanted.push_back(heading.substr(0, heading.find(kPatternMark)));
  for (const auto& [name, values] : import.where) wanted.push_back(name);
  for (const auto& [metric, heading] : import.unit_columns) wanted.push_back(heading);
  return wanted;
}

void TableHeader::problem(long long line, const std::string& text) {
  plan_.problems.push_back(printable(fmt::format("{}:{}: error: {}", table_, line, text)));
}

void TableHeader::problem_at(const CsvReader::CellPlace& place, const std::string& text) {
  plan_.problems.push_back(printable(fmt::format("{}:{}:{}: error: {}", table_, place.line, place.column, text)));
}

void TableHeader::note(const std::string& text) { plan_.notes.push_back(printable(fmt::format("{}: {}", table_, text))); }

bool TableHeader::read(long long line, std::vector<std::string> cells, Places places) {
  headings_ = std::move(cells);
  cells_ = headings_;
  std::vector<std::string> wanted = wanted_headings(import_);
  for (const auto& [name, heading] : import_.headings) {
    if (heading.find(kPatternMark) != std::string::npos) wanted.push_back(heading);
  }
  find_members(wanted);
  add_members(cells_, places);
  std::vector<std::string> strange, ignored;
  for (const std::string& cell : cells_) {
    columns_.push_back(column_of(cell, study_.plan.axes, import_, study_.experiment));
    if (columns_.back().kind == TableColumn::Kind::wrong) strange.push_back(cell);
    if (columns_.back().kind == TableColumn::Kind::ignored) ignored.push_back(cell);
  }
  check_headings(line, strange);
  check_units(places);
  check_twice(places);
  find_named_columns(line);
  note_ignored(ignored);
  for (const TableColumn& column : columns_) {
    if (column.kind == TableColumn::Kind::fact && column.name.starts_with(kPublished)) note_unknown_figure(column.name);
    if (column.kind == TableColumn::Kind::metric) note_derived_figure(column.name);
  }
  note_misspelt_metric();
  return is_sound_;
}

void TableHeader::find_members(const std::vector<std::string>& wanted) {
  for (const std::string& heading : wanted) {
    if (index_of(cells_, heading)) continue;
    const std::size_t mark = heading.find(kPatternMark);
    const std::size_t slash = mark != std::string::npos ? mark : heading.find('/');
    const auto column = slash == std::string::npos ? std::nullopt : index_of(headings_, heading.substr(0, slash));
    if (!column) continue;
    members_.emplace_back(*column, heading.substr(slash));
    cells_.push_back(heading);
  }
  cells_.resize(headings_.size());
}

std::optional<std::size_t> TableHeader::add_members(std::vector<std::string>& cells, Places& places) const {
  std::optional<std::size_t> broken;
  for (const auto& [column, pointer] : members_) {
    const bool is_pattern = pointer.front() == kPatternMark;
    if (is_read() && !is_pattern && !cells[column].empty() && !is_json(cells[column])) broken = column;
    cells.push_back(is_read() ? text_of_member(cells[column], pointer) : headings_[column] + pointer);
    places.push_back(CsvReader::CellPlace(places[column]));
  }
  return broken;
}

bool TableHeader::is_meant(const std::vector<std::string>& cells) const {
  return std::all_of(conditions_.begin(), conditions_.end(),
                     [&](const auto& condition) { return is_one_of(cells[condition.first], *condition.second); });
}

std::optional<std::size_t> TableHeader::unit_column(const std::string& metric) const {
  for (const auto& [name, column] : unit_columns_) {
    if (name == metric) return column;
  }
  return std::nullopt;
}

/// The columns of `where` and `unit`.
void TableHeader::find_named_columns(long long line) {
  const auto find = [&](const std::string& key, const std::string& heading) {
    const std::optional<std::size_t> column = index_of(cells_, heading);
    if (!column) {
      problem(line, fmt::format("`{}` names the column `{}`, which is not there{}; the columns are: {}", key, heading,
                                did_you_mean(heading, cells_), shown(cells_)));
      is_sound_ = false;
    }
    return column;
  };
  for (const auto& [name, values] : import_.where) {
    if (const auto column = find("where", name)) conditions_.emplace_back(*column, &values);
  }
  for (const auto& [metric, heading] : import_.unit_columns) {
    if (const auto column = find("unit", heading)) unit_columns_.emplace_back(metric, *column);
  }
}

void TableHeader::note_ignored(const std::vector<std::string>& ignored) {
  std::vector<std::string> names;
  for (const std::string& name : ignored) {
    const std::size_t index = *index_of(cells_, name);
    const bool is_used =
        std::any_of(conditions_.begin(), conditions_.end(), [&](const auto& each) { return each.first == index; }) ||
        std::any_of(unit_columns_.begin(), unit_columns_.end(), [&](const auto& each) { return each.second == index; }) ||
        std::any_of(members_.begin(), members_.end(), [&](const auto& each) { return each.first == index; });
    const std::string named = without_numbers(name);
    if (!is_used && std::find(names.begin(), names.end(), named) == names.end()) names.push_back(named);
  }
  if (!names.empty() && import_.lists_columns) note("left out, as `columns` does not name them: " + shown(names));
}

/// A column `Train_s` gives no value of the metric `train_s` that the study reports.
void TableHeader::note_misspelt_metric() {
  const std::string metric = study_.experiment.report_metric();
  std::vector<std::string> near;
  for (const TableColumn& column : columns_) {
    if (column.kind != TableColumn::Kind::metric && column.kind != TableColumn::Kind::file) continue;
    if (column.kind == TableColumn::Kind::file || column.name == metric) return;  // values may come from the files
    if (study_.experiment.find_metric(column.name) == nullptr) near.push_back(column.name);
  }
  if (const std::string advice = other_spelling_of(metric, near); !advice.empty())
    plan_.notes.push_back(printable(fmt::format("{}: no column gives `{}`{}", table_, metric, advice)));
}

void TableHeader::check_units(const Places& places) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string other = other_spelling_of_unit(columns_[i].unit);
    if (other.empty()) continue;
    problem_at(places[i], fmt::format("`{}` is no unit that hpcbench knows: did you mean {}?", columns_[i].unit, other));
    is_sound_ = false;
  }
}

/// Refuses two columns that give the same: one would replace the other.
void TableHeader::check_twice(const Places& places) {
  using Kind = TableColumn::Kind;
  std::map<std::pair<Kind, std::string>, std::size_t> seen;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const TableColumn& column = columns_[i];
    if (column.kind == Kind::ignored || column.kind == Kind::wrong) continue;
    const auto [found, is_new] = seen.emplace(std::pair(column.kind, column.name), i);
    if (is_new) continue;
    problem_at(places[i],
               fmt::format("the columns `{}` and `{}` both give `{}`: give one of them another name, as by "
                           "`values: {{{}_2: {}}}`",
                           cells_[found->second], cells_[i], column.name, suggested_name(column.name), json_quote(cells_[i])));
    is_sound_ = false;
  }
}

std::string TableHeader::difference(const std::vector<std::string>& cells) const {
  const auto missing_in = [](const std::vector<std::string>& all, const std::vector<std::string>& there) {
    std::vector<std::string> names;
    for (const std::string& name : all) {
      if (std::find(there.begin(), there.end(), name) == there.end()) names.push_back('`' + name + '`');
    }
    return names;
  };
  std::vector<std::string> parts;
  if (const auto added = missing_in(cells, headings_); !added.empty()) parts.push_back(join(added, ", ") + " only here");
  if (const auto gone = missing_in(headings_, cells); !gone.empty())
    parts.push_back(join(gone, ", ") + " only in the first line");
  return parts.empty() ? "another order or number of them" : join(parts, ", ");
}

/// A column `speedup` is a metric like any other, and no figure that the report computes is compared with it.
void TableHeader::note_derived_figure(const std::string& metric) {
  const std::string lower = lower_case(metric);
  const char* const figure = lower == "speedup" ? "speedup" : lower == "efficiency" || lower == "eff" ? "efficiency" : nullptr;
  if (figure == nullptr || study_.experiment.find_metric(metric) != nullptr) return;
  plan_.notes.push_back(printable(fmt::format(
      "{}: `{}` is a metric of its own: call the column `published_{}`, and the report compares it with its own figure", table_,
      metric, figure)));
}

/// A published figure without a counterpart is compared with nothing, which a misspelt name must not hide.
void TableHeader::note_unknown_figure(const std::string& fact) {
  const std::string name = fact.substr(kPublished.size());
  std::vector<std::string> known = {"speedup", "efficiency", "efficiency_percent"};
  for (const auto* names : {&measured_metrics(), &trainer_metrics()}) known.insert(known.end(), names->begin(), names->end());
  for (const TableColumn& column : columns_) {
    if (column.kind == TableColumn::Kind::metric) known.push_back(column.name);
  }
  if (study_.experiment.find_metric(name) != nullptr || std::find(known.begin(), known.end(), name) != known.end()) return;
  plan_.notes.push_back(
      printable(fmt::format("{}: `{}` is only kept as a fact: there is neither a metric nor a ratio `{}` to compare it with{}",
                            table_, fact, name, did_you_mean(name, known))));
}

/// Leaves out unmapped columns, with one note, where some headings are mapped: then another program wrote the table.
void TableHeader::check_headings(long long line, const std::vector<std::string>& strange) {
  for (const auto& [metric, heading] : import_.headings) {
    if (index_of(cells_, heading)) continue;
    problem(line, fmt::format("`{}` shall come from the column `{}`, which is not there{}; the columns are: {}", metric,
                              heading, did_you_mean(heading, cells_), shown(cells_)));
    is_sound_ = false;
  }
  if (strange.empty()) return;
  if (!import_.headings.empty()) {
    plan_.notes.push_back(
        printable(fmt::format("{}: left out, as `values` maps no metric to them: {}", table_, join(strange, ", "))));
    for (TableColumn& column : columns_) {
      if (column.kind == TableColumn::Kind::wrong) column.kind = TableColumn::Kind::ignored;
    }
    return;
  }
  problem(line, fmt::format(
                    "`{}` {} no name of an axis or a metric{}: map what you need, `values: {{{}: {}}}`; the rest is left "
                    "out then (axes: {}; other columns: file, outcome, statistic, n, note, id, run, fact:NAME)",
                    join(strange, "`, `"), strange.size() == 1 ? "is" : "are", did_you_mean(strange.front(), study_.plan.axes),
                    suggested_name(strange.front()), json_quote(strange.front()), join(study_.plan.axes, ", ")));
  is_sound_ = false;
}

}  // namespace hpcbench
