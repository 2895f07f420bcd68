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
#include "imports/import_files.hpp"
#include "imports/import_request.hpp"
#include "imports/lines_of_runs.hpp"
#include "imports/table_column.hpp"
#include "imports/table_header.hpp"
#include "imports/table_rows.hpp"
#include "ingest/attempt_record.hpp"
#include "ingest/csv_text.hpp"
#include "ingest/line_reader.hpp"

namespace hpcbench {

namespace {

/// Reads the lines of one table to requests.
class TablePlanner {
 public:
  TablePlanner(const Study& study, const Import& import, const std::string& table, bool inherited, ImportPlan& plan)
      : study_(study),
        import_(import),
        table_(table),
        inherited_(inherited),
        plan_(plan),
        header_(study, import, table, plan) {}

  /// Begins a table of CSV: `find_mark` examines the numbers of a column.
  void begin(std::function<DecimalMark(std::size_t column)> find_mark) { find_mark_ = std::move(find_mark); }

  void take_row(long long line, const std::vector<std::string>& cells, const std::vector<CsvReader::CellPlace>& places) {
    if (!header_.is_read()) {
      take_header(line, cells, places);
    } else if (!sound_) {
      return;
    } else if (find_mark_ && cells == header_.headings()) {
      repeated_headers_.push_back(std::to_string(line));
    } else if (find_mark_ && is_other_header(header_.headings(), cells)) {
      problem_at(places.front(), "another header begins here, with other columns: " + header_.difference(cells) +
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
    lines_of_runs_.finish(import_.take.value_or("last"), plan_);
    if (not_meant_ > 0) {
      plan_.notes.push_back(printable(fmt::format("{}: {} left out by `where` ({})", table_,
                                                  counted(not_meant_, "line is", "lines are"), describe_where(import_.where))));
    }
    for (const auto& [word, count] : ignored_) {
      plan_.notes.push_back(printable(
          fmt::format("{}: {} left out, as `outcome` ignores `{}`", table_, counted(count, "line is", "lines are"), word)));
    }
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
  bool empty() const { return !header_.is_read(); }
  long long left_out() const { return left_out_; }

 private:
  void take_header(long long line, const std::vector<std::string>& cells, const std::vector<CsvReader::CellPlace>& places) {
    sound_ = header_.read(line, cells, places);
    for (std::size_t column = 0; column < header_.columns().size(); ++column) {
      numbers_.emplace_back("", import_.decimal);
      numbers_.back().begin_file([this, column] { return find_mark_ ? find_mark_(column) : DecimalMark::unknown; });
    }
    for (const std::string& cell : cells) header_text_ += (header_text_.empty() ? "" : ",") + csv_cell(cell);
    const auto names_run = [](const TableColumn& column) { return column.kind == TableColumn::Kind::id; };
    if (!import_.take || std::any_of(header_.columns().begin(), header_.columns().end(), names_run)) return;
    problem(line, "`take` is of the lines of one run, and no column names the run: map one, `columns: {run: HEADING}`");
    sound_ = false;
  }

  void take_line(long long line, std::vector<std::string> cells, std::vector<CsvReader::CellPlace> places) {
    if (cells.size() != header_.headings().size()) {
      problem(line, fmt::format("{} cells under a header of {}", cells.size(), header_.headings().size()));
      return;
    }
    std::string text;
    for (const std::string& cell : cells) text += (&cell == &cells.front() ? "" : ",") + csv_cell(cell);
    const std::optional<std::size_t> broken = header_.add_members(cells, places);
    if (!header_.is_meant(cells)) {
      ++not_meant_;
      return;
    }
    if (broken) return problem_at(places[*broken], fmt::format("`{}` is not JSON", cells[*broken]));
    begin_request(line);
    cells_ = &cells;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const TableColumn& column = header_.columns()[i];
      if (cells[i].empty() && (column.kind != TableColumn::Kind::outcome || !import_.outcome_words.contains(""))) continue;
      if (const std::string why = take_cell(column, cells[i], numbers_[i]); !why.empty()) return problem_at(places[i], why);
    }
    if (request_.outcome == kIgnoredOutcome) return;
    if (request_.n && !request_.statistic) ++n_without_statistic_;
    request_.line = ImportRequest::TableLine{table_, line, header_text_ + '\n' + text + '\n'};
    place_on_point(line);
  }

  void begin_request(long long line) {
    request_ = ImportRequest();
    request_.where = fmt::format("{}:{}", table_, line);
    request_.values = import_.values;
    request_.facts = import_.facts;
    request_.outcome = import_.outcome;
    request_.statistic = import_.statistic;
    request_.note = import_.note;
    request_.n = import_.n;
    axes_.clear();
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
        std::string why;
        request_.outcome = outcome_of_word(import_, cell, why);
        if (request_.outcome == kIgnoredOutcome) ++ignored_[cell];
        if (!import_.outcome_words.empty()) request_.outcome_word = cell;
        return why;
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
    const std::optional<std::size_t> unit_column = header_.unit_column(column.name);
    const std::string& unit = unit_column                        ? (*cells_)[*unit_column]
                              : !column.unit.empty()             ? column.unit
                              : of_metric != import_.units.end() ? of_metric->second
                              : !column.unit_in_name.empty()     ? column.unit_in_name
                                                                 : import_.unit;
    const bool is_time = column.name.ends_with("_s") && !column.name.ends_with("_per_s");
    // One unit for the whole table is that of its times.
    const bool own = unit_column || !column.unit.empty() || of_metric != import_.units.end() || !column.unit_in_name.empty();
    if (is_absent(cell)) return {};
    if (const std::string other = unit_column ? other_spelling_of_unit(unit) : ""; !other.empty())
      return fmt::format("`{}` is no unit that hpcbench knows: did you mean {}?", unit, other);
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
      if (!import_.take || !request_.id) {
        plan_.requests.push_back(std::move(request_));
      } else {
        lines_of_runs_.add(std::move(request_));
      }
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
  long long not_meant_ = 0;                   // lines that `where` leaves out
  std::map<std::string, long long> ignored_;  // lines that `outcome` leaves out, by word
  TableHeader header_;
  std::string header_text_;
  const std::vector<std::string>* cells_ = nullptr;  // of the line
  LinesOfRuns lines_of_runs_;
  std::vector<std::string> repeated_headers_;  // their lines
  long long n_without_statistic_ = 0;
  bool sound_ = true;
  ImportRequest request_;
  NamedTexts axes_;                              // and `gpus` or `ranks` of the line
  std::set<std::string> texts_;                  // columns that are left out
  std::map<std::string, long long> not_finite_;  // metric: lines
};

}  // namespace

namespace {

void read_csv_rows(const std::string& table, TablePlanner& planner) {
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
  if (unreadable) {
    planner.problem(1, *unreadable);
  } else if (planner.empty()) {
    planner.problem(1, "an empty table: the first line names the columns");
  }
}

}  // namespace

void plan_table(const Study& study, const Import& import, const std::string& table, bool inherited, ImportPlan& plan) {
  TablePlanner planner(study, import, table, inherited, plan);
  const RowTaker taker{[&](long long line, const auto& cells, const auto& places) { planner.take_row(line, cells, places); },
                       [&](long long line, const std::string& text) { planner.problem(line, text); }};
  if (!import.query.empty() || is_sqlite_table(table)) {
    if (import.query.empty()) {
      planner.problem(1, "a database needs `query: SELECT ...`");
    } else {
      read_query_rows(table, import.query, taker);
    }
  } else if (!import.rows.empty() || is_json_table(table)) {
    read_json_rows(table, import.rows, wanted_headings(import), taker);
  } else {
    read_csv_rows(table, planner);
  }
  planner.finish();
  if (planner.left_out() > 0) {
    plan.whole = false;
    plan.notes.push_back(fmt::format("{}: {} lines are of points that are not there now", table, planner.left_out()));
  }
}

}  // namespace hpcbench
