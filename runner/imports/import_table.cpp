#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/state.hpp"
#include "base/take.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "base/written_number.hpp"
#include "imports/import_request.hpp"
#include "imports/table_column.hpp"
#include "ingest/attempt_record.hpp"
#include "ingest/csv_text.hpp"
#include "ingest/line_reader.hpp"

namespace hpcbench {

namespace {

/// Reads the lines of one table to requests.
class TablePlanner {
 public:
  TablePlanner(const Study& study, const Import& import, const std::string& table, bool inherited, ImportPlan& plan)
      : study_(study), import_(import), table_(table), inherited_(inherited), plan_(plan) {}

  /// `find_mark` examines the numbers of a column.
  void begin(std::function<DecimalMark(std::size_t column)> find_mark) { find_mark_ = std::move(find_mark); }

  void take_row(long long line, const std::vector<std::string>& cells, const std::vector<CsvReader::CellPlace>& places) {
    if (columns_.empty()) {
      headings_ = cells;
      take_header(line, cells, places);
    } else if (!sound_) {
      return;
    } else if (cells == headings_) {
      repeated_headers_.push_back(std::to_string(line));
    } else if (is_other_header(headings_, cells)) {
      problem_at(places.front(), "another header begins here, with other columns: " + header_difference(cells) +
                                     ". Put the lines from here on into a table of their own");
      sound_ = false;
    } else {
      take_line(line, cells, places);
    }
  }
  void problem(long long line, const std::string& text) {
    plan_.problems.push_back(printable(fmt::format("{}:{}: error: {}", table_, line, text)));
  }
  void problem_at(const CsvReader::CellPlace& place, const std::string& text) {
    plan_.problems.push_back(printable(fmt::format("{}:{}:{}: error: {}", table_, place.line, place.column, text)));
  }
  /// After the last line: what was left out of them.
  void finish() {
    if (!texts_.empty()) {
      plan_.notes.push_back(printable(fmt::format("{}: left out, as they hold texts and `values` maps no metric to them: {}",
                                                  table_, join({texts_.begin(), texts_.end()}, ", "))));
    }
    for (const auto& [column, lines] : not_finite_) {
      plan_.notes.push_back(printable(
          fmt::format("{}: no value of {} in {}, as it is not finite there", table_, column, counted(lines, "line", "lines"))));
    }
    if (!repeated_headers_.empty()) {
      constexpr std::size_t kLinesShown = 5;
      const std::size_t count = repeated_headers_.size();
      std::vector<std::string> shown = repeated_headers_;
      shown.resize(std::min(count, kLinesShown));
      plan_.notes.push_back(
          printable(fmt::format("{}: the header is repeated in {} {}{}, skipped", table_, count == 1 ? "line" : "lines",
                                join(shown, ", "), count > kLinesShown ? " ..." : "")));
    }
    if (n_without_statistic_ > 0) {
      plan_.notes.push_back(printable(fmt::format(
          "{}: `n` has no effect in {} without a statistic, which count{} as one run each: add a column "
          "`statistic` ({})",
          table_, counted(n_without_statistic_, "line", "lines"), n_without_statistic_ == 1 ? "s" : "", kStatisticWords)));
    }
  }
  bool empty() const { return columns_.empty(); }
  long long left_out() const { return left_out_; }

 private:
  void take_header(long long line, const std::vector<std::string>& cells, const std::vector<CsvReader::CellPlace>& places) {
    std::vector<std::string> strange;  // headings that are no names and that nobody maps
    for (const std::string& cell : cells) {
      numbers_.emplace_back("", import_.decimal);
      numbers_.back().begin_file([this, column = columns_.size()] { return find_mark_(column); });
      columns_.push_back(column_of(cell, study_.plan.axes, import_, study_.experiment));
      if (columns_.back().kind == TableColumn::Kind::wrong) strange.push_back(cell);
      header_ += (header_.empty() ? "" : ",") + csv_cell(cell);
    }
    check_headings(line, cells, strange);
    check_units(places);
    check_twice(cells, places);
    for (const TableColumn& column : columns_) {
      if (column.kind == TableColumn::Kind::fact && column.name.starts_with(kPublished)) note_unknown_figure(column.name);
      if (column.kind == TableColumn::Kind::metric) note_derived_figure(column.name);
    }
    note_misspelt_metric();
  }

  /// A column `Train_s` gives no value of the metric `train_s` that the study reports.
  void note_misspelt_metric() {
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

  void check_units(const std::vector<CsvReader::CellPlace>& places) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string other = other_spelling_of_unit(columns_[i].unit);
      if (other.empty()) continue;
      problem_at(places[i], fmt::format("`{}` is no unit that hpcbench knows: did you mean {}?", columns_[i].unit, other));
      sound_ = false;
    }
  }

  /// Refuses two columns that give the same: one would replace the other.
  void check_twice(const std::vector<std::string>& cells, const std::vector<CsvReader::CellPlace>& places) {
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
                             cells[found->second], cells[i], column.name, suggested_name(column.name), json_quote(cells[i])));
      sound_ = false;
    }
  }

  std::string header_difference(const std::vector<std::string>& cells) const {
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
  void note_derived_figure(const std::string& metric) {
    const std::string lower = lower_case(metric);
    const char* const figure = lower == "speedup"                        ? "speedup"
                               : lower == "efficiency" || lower == "eff" ? "efficiency"
                                                                         : nullptr;
    if (figure == nullptr || study_.experiment.find_metric(metric) != nullptr) return;
    plan_.notes.push_back(printable(fmt::format(
        "{}: `{}` is a metric of its own: call the column `published_{}`, and the report compares it with its own figure",
        table_, metric, figure)));
  }

  /// A published figure without a counterpart is compared with nothing, which a misspelt name must not hide.
  void note_unknown_figure(const std::string& fact) {
    const std::string name = fact.substr(kPublished.size());
    std::vector<std::string> known = {"speedup", "efficiency", "efficiency_percent"};
    for (const auto* names : {&measured_metrics(), &trainer_metrics()}) known.insert(known.end(), names->begin(), names->end());
    for (const TableColumn& column : columns_) {
      if (column.kind == TableColumn::Kind::metric) known.push_back(column.name);
    }
    if (study_.experiment.find_metric(name) != nullptr || std::find(known.begin(), known.end(), name) != known.end()) return;
    plan_.notes.push_back(printable(
        fmt::format("{}: `{}` is only kept as a fact: there is neither a metric nor a ratio `{}` to compare it with{}", table_,
                    fact, name, did_you_mean(name, known))));
  }

  /// Where some headings are mapped the table is somebody else's: what is not mapped is left out, and said once.
  void check_headings(long long line, const std::vector<std::string>& cells, const std::vector<std::string>& strange) {
    for (const auto& [metric, heading] : import_.headings) {
      if (std::find(cells.begin(), cells.end(), heading) != cells.end()) continue;
      problem(line, fmt::format("`{}` shall come from the column `{}`, which is not there{}; the columns are: {}", metric,
                                heading, did_you_mean(heading, cells), join(cells, ", ")));
      sound_ = false;
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
    problem(
        line,
        fmt::format("`{}` {} no name of an axis or a metric{}: map what you need, `values: {{{}: {}}}`; the rest is left "
                    "out then (axes: {}; other columns: file, outcome, statistic, n, note, id, run, fact:NAME)",
                    join(strange, "`, `"), strange.size() == 1 ? "is" : "are", did_you_mean(strange.front(), study_.plan.axes),
                    suggested_name(strange.front()), json_quote(strange.front()), join(study_.plan.axes, ", ")));
    sound_ = false;
  }

  void take_line(long long line, const std::vector<std::string>& cells, const std::vector<CsvReader::CellPlace>& places) {
    if (cells.size() != columns_.size()) {
      problem(line, fmt::format("{} cells under a header of {}", cells.size(), columns_.size()));
      return;
    }
    request_ = ImportRequest();
    request_.where = fmt::format("{}:{}", table_, line);
    request_.values = import_.values;
    request_.facts = import_.facts;
    request_.outcome = import_.outcome;
    request_.statistic = import_.statistic;
    request_.note = import_.note;
    request_.n = import_.n;
    axes_.clear();
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      text += (i == 0 ? "" : ",") + csv_cell(cells[i]);
      if (cells[i].empty()) continue;
      if (const std::string why = take_cell(columns_[i], cells[i], numbers_[i]); !why.empty()) {
        problem_at(places[i], why);
        return;
      }
    }
    if (request_.n && !request_.statistic) ++n_without_statistic_;
    request_.line = ImportRequest::TableLine{table_, line, header_ + '\n' + text + '\n'};
    place_on_point(line);
  }

  /// Why not, or nothing.
  std::string take_cell(const TableColumn& column, const std::string& cell, NumberReader& numbers) {
    switch (column.kind) {
      case TableColumn::Kind::axis:
        axes_.emplace_back(column.name, cell);
        return {};
      case TableColumn::Kind::file:
        return take_files(cell);
      case TableColumn::Kind::outcome: {
        const std::optional<State> state = parse_state(cell);
        if (!state || !is_outcome(*state))
          return fmt::format("`{}` is no outcome: write succeeded, failed, timeout, out_of_memory ...", cell);
        request_.outcome = cell;
        return {};
      }
      case TableColumn::Kind::statistic:
        request_.statistic = parse_statistic(cell);
        return request_.statistic ? "" : fmt::format("`{}` is no statistic: write {}", cell, kStatisticWords);
      case TableColumn::Kind::n: {
        const std::optional<long long> n = Value::from_plain(cell).integer();
        if (!n || *n < 1 || *n > 1'000'000) return fmt::format("`{}` is no number of runs", cell);
        request_.n = static_cast<int>(*n);
        return {};
      }
      case TableColumn::Kind::note:
        request_.note = cell;
        return {};
      case TableColumn::Kind::id:
        request_.facts[column.name] = cell;
        if (!request_.id || column.name == "id") request_.id = column.name + ' ' + cell;
        return {};
      case TableColumn::Kind::fact:
      case TableColumn::Kind::rank_times:
        request_.facts[column.name] = cell + (column.unit.empty() ? "" : ' ' + column.unit);
        return {};
      case TableColumn::Kind::metric:
        return take_value(column, cell, numbers);
      case TableColumn::Kind::ignored:
      case TableColumn::Kind::wrong:
        break;
    }
    return {};
  }

  std::string take_files(const std::string& cell) {
    for (const std::string& part : split(cell, ';')) {
      const std::string name(trim(part));
      if (name.empty()) continue;
      const std::filesystem::path path = std::filesystem::path(table_).parent_path() / name;
      if (!std::filesystem::is_regular_file(path)) return fmt::format("there is no file {}", path.lexically_normal().string());
      request_.files.push_back(path.lexically_normal().string());
    }
    return {};
  }

  std::string take_value(const TableColumn& column, const std::string& cell, NumberReader& numbers) {
    const auto of_metric = import_.units.find(column.name);
    const std::string& unit = !column.unit.empty()               ? column.unit
                              : of_metric != import_.units.end() ? of_metric->second
                              : !column.unit_in_name.empty()     ? column.unit_in_name
                                                                 : import_.unit;
    const bool is_time = column.name.ends_with("_s") && !column.name.ends_with("_per_s");
    // One unit for the whole table is that of its times.
    const bool own = !column.unit.empty() || of_metric != import_.units.end() || !column.unit_in_name.empty();
    if (is_absent(cell)) return {};
    const auto value = read_given_value(column.name, cell, own || is_time ? unit : "", numbers);
    if (!value && is_not_finite(cell)) {
      std::string& names = request_.facts[kNanFact];
      names += (names.empty() ? "" : ", ") + column.name;
      ++not_finite_[column.name];
      return {};
    }
    const std::string why = value ? "" : numbers.read_as_written(cell).why;
    if (!value && why.empty() && !import_.headings.empty() && !column.is_mapped && column.unit.empty()) {
      texts_.insert(column.name);  // a name or a state in a table that another program wrote
      return {};
    }
    if (!value) {
      return fmt::format("`{}` in column {} is neither a number nor a time, nor a number with a unit{}{}{}", cell, column.name,
                         why.empty() ? "" : ": " + why, unit_advice(cell), did_you_mean(column.name, study_.plan.axes));
    }
    std::erase_if(request_.values, [&](const GivenValue& other) { return other.metric == value->metric; });
    request_.values.push_back(*value);
    return {};
  }

  /// For `900 mb/s`.
  static std::string unit_advice(const std::string& cell) {
    const std::size_t end = cell.find_first_not_of("0123456789.+-eE \t");
    const std::string other =
        end == std::string::npos || end == 0 ? "" : other_spelling_of_unit(std::string(trim(cell.substr(end))));
    return other.empty() ? "" : fmt::format(" (did you mean {}?)", other);
  }

  void place_on_point(long long line) {
    for (const auto& [name, value] : import_.run) {
      const bool said = std::any_of(axes_.begin(), axes_.end(), [&](const auto& axis) { return axis.first == name; });
      if (!said) axes_.emplace_back(name, value.text());
    }
    const std::vector<std::size_t> points = find_points(study_.plan, axes_);
    const std::string why = why_not_one(study_.plan, axes_, points);
    if (why.empty()) {
      request_.configuration = points.front();
      request_.metrics = import_.metrics.value_or(study_.plan.configurations[points.front()].work->metrics);
      plan_.requests.push_back(std::move(request_));
    } else if (points.empty() && inherited_) {
      ++left_out_;
    } else {
      problem(line, why);
    }
  }

  const Study& study_;
  const Import& import_;
  const std::string& table_;
  bool inherited_;
  ImportPlan& plan_;
  std::function<DecimalMark(std::size_t column)> find_mark_;
  std::vector<NumberReader> numbers_;  // of the columns
  long long left_out_ = 0;
  std::vector<TableColumn> columns_;
  std::vector<std::string> headings_;
  std::string header_;
  std::vector<std::string> repeated_headers_;  // their lines
  long long n_without_statistic_ = 0;
  bool sound_ = true;
  ImportRequest request_;
  NamedTexts axes_;                              // and `gpus` or `ranks` of the line
  std::set<std::string> texts_;                  // columns that are left out
  std::map<std::string, long long> not_finite_;  // metric: lines
};

}  // namespace

void plan_table(const Study& study, const Import& import, const std::string& table, bool inherited, ImportPlan& plan) {
  TablePlanner planner(study, import, table, inherited, plan);
  CsvReader csv([&](long long line, std::vector<std::string>& cells) { planner.take_row(line, cells, csv.cell_places()); },
                [&](long long line, const std::string& text) { planner.problem(line, text); });
  csv.keep_places();
  planner.begin([&](std::size_t column) {
    MarkEvidence evidence(csv.delimiter(), column);
    read_lines(table, [&](std::string_view piece) {
      evidence.add(piece);
      return true;
    });
    return evidence.mark();
  });
  const auto unreadable = read_lines(table, [&](std::string_view piece) {
    csv.feed(piece);
    return true;
  });
  csv.finish();
  planner.finish();
  if (planner.left_out() > 0) {
    plan.whole = false;
    plan.notes.push_back(fmt::format("{}: {} lines are of points that are not there now", table, planner.left_out()));
  }
  if (unreadable) plan.problems.push_back(fmt::format("{}: error: {}", table, *unreadable));
  if (!unreadable && planner.empty()) planner.problem(1, "an empty table: the first line names the columns");
}

}  // namespace hpcbench
