#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/state.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "imports/import_request.hpp"
#include "ingest/attempt_record.hpp"
#include "ingest/csv_text.hpp"
#include "ingest/line_reader.hpp"
#include "ingest/metric_scan.hpp"

namespace hpcbench {

namespace {

struct TableColumn {
  enum class Kind { axis, file, outcome, statistic, n, note, id, fact, rank_times, metric, ignored, wrong };
  Kind kind = Kind::wrong;
  std::string name;
  std::string unit;        // of a metric, or of a published figure
  bool is_mapped = false;  // by `values`
};

bool is_metric_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

/// `train_s [min]`, `train_s (min)`, `fact:device`, `strategy`.
TableColumn column_of(const std::string& heading, const std::vector<std::string>& axes,
                      const std::map<std::string, std::string>& mapped) {
  using Kind = TableColumn::Kind;
  std::string name = heading, unit;
  for (const auto& [open, close] : {std::pair('[', ']'), std::pair('(', ')')}) {
    const std::size_t bracket = heading.rfind(open);
    if (bracket == std::string::npos || !heading.ends_with(close)) continue;
    const std::string inner(trim(heading.substr(bracket + 1, heading.size() - bracket - 2)));
    if (open == '(' && !is_known_unit(inner)) continue;  // `loss (validation)`
    name = std::string(trim(heading.substr(0, bracket)));
    unit = inner;
  }
  const auto of_heading = std::find_if(mapped.begin(), mapped.end(), [&](const auto& each) { return each.second == heading; });
  const bool is_mapped = of_heading != mapped.end();
  if (is_mapped) name = of_heading->first;
  const bool is_axis = std::find(axes.begin(), axes.end(), name) != axes.end();
  if (is_axis && (is_mapped || name == heading)) return {Kind::axis, name, "", is_mapped};
  for (const auto& [word, kind] :
       {std::pair("file", Kind::file), std::pair("outcome", Kind::outcome), std::pair("statistic", Kind::statistic),
        std::pair("n", Kind::n), std::pair("note", Kind::note), std::pair("id", Kind::id), std::pair("run", Kind::id)}) {
    if (is_mapped ? name == word && kind == Kind::id : heading == word) return {kind, name, "", is_mapped};
  }
  if (heading.starts_with("fact:") && heading.size() > 5 && !is_mapped) return {Kind::fact, heading.substr(5), ""};
  if (!is_metric_name(name)) return {Kind::wrong, heading, ""};
  if (name.starts_with(kPublished)) return {Kind::fact, name, unit, is_mapped};
  if (name == "gpus" || name == "ranks") return {Kind::axis, name, "", is_mapped};
  if (is_mapped) return {Kind::metric, name, unit, true};
  if (name.starts_with("rank_")) return {Kind::rank_times, name, ""};
  return {Kind::metric, name, unit};
}

/// `eval/loss` -> `eval_loss`: how a metric of that column may be called.
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

/// Reads the lines of one table to requests.
class TablePlanner {
 public:
  TablePlanner(const Study& study, const Import& import, const std::string& table, bool inherited, ImportPlan& plan)
      : study_(study), import_(import), table_(table), inherited_(inherited), plan_(plan) {}

  void take_row(long long line, const std::vector<std::string>& cells) {
    if (columns_.empty()) {
      take_header(line, cells);
    } else if (sound_) {
      take_line(line, cells);
    }
  }
  void problem(long long line, const std::string& text) {
    plan_.problems.push_back(printable(fmt::format("{}:{}: error: {}", table_, line, text)));
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
  }
  bool empty() const { return columns_.empty(); }
  long long left_out() const { return left_out_; }

 private:
  void take_header(long long line, const std::vector<std::string>& cells) {
    std::vector<std::string> strange;  // headings that are no names and that nobody maps
    for (const std::string& cell : cells) {
      columns_.push_back(column_of(cell, study_.plan.axes, import_.headings));
      if (columns_.back().kind == TableColumn::Kind::wrong) strange.push_back(cell);
      header_ += (header_.empty() ? "" : ",") + csv_cell(cell);
    }
    check_headings(line, cells, strange);
    for (const TableColumn& column : columns_) {
      if (column.kind == TableColumn::Kind::fact && column.name.starts_with(kPublished)) note_unknown_figure(column.name);
    }
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
    if (const std::size_t other = cells.front().find_first_of(";\t"); cells.size() == 1 && other != std::string::npos) {
      problem(line, fmt::format("this table has {} between its cells, and hpcbench reads commas (and decimal points)",
                                cells.front()[other] == ';' ? "`;`" : "tabs"));
      sound_ = false;
      return;
    }
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

  void take_line(long long line, const std::vector<std::string>& cells) {
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
      if (const std::string why = take_cell(columns_[i], cells[i]); !why.empty()) {
        problem(line, why);
        return;
      }
    }
    request_.line = ImportRequest::TableLine{table_, line, header_ + '\n' + text + '\n'};
    place_on_point(line);
  }

  /// Why not, or nothing.
  std::string take_cell(const TableColumn& column, const std::string& cell) {
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
        request_.statistic = cell;
        return {};
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
        return take_value(column, cell);
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

  std::string take_value(const TableColumn& column, const std::string& cell) {
    const auto of_metric = import_.units.find(column.name);
    const std::string& unit = !column.unit.empty()               ? column.unit
                              : of_metric != import_.units.end() ? of_metric->second
                                                                 : import_.unit;
    const bool is_time = column.name.ends_with("_s") && !column.name.ends_with("_per_s");
    // One unit for the whole table is that of its times.
    const bool own = !column.unit.empty() || of_metric != import_.units.end();
    const auto value = read_given_value(column.name, cell, own || is_time ? unit : "");
    if (!value && is_not_finite(cell)) {
      std::string& names = request_.facts[kNanFact];
      names += (names.empty() ? "" : ", ") + column.name;
      ++not_finite_[column.name];
      return {};
    }
    if (!value && !import_.headings.empty() && !column.is_mapped && column.unit.empty()) {
      texts_.insert(column.name);  // somebody else's table: a name, a state
      return {};
    }
    if (!value) {
      return fmt::format("`{}` in column {} is neither a number nor a time{}", cell, column.name,
                         did_you_mean(column.name, study_.plan.axes));
    }
    std::erase_if(request_.values, [&](const GivenValue& other) { return other.metric == value->metric; });
    request_.values.push_back(*value);
    return {};
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
  long long left_out_ = 0;
  std::vector<TableColumn> columns_;
  std::string header_;
  bool sound_ = true;
  ImportRequest request_;
  NamedTexts axes_;                              // and `gpus` or `ranks` of the line
  std::set<std::string> texts_;                  // columns that are left out
  std::map<std::string, long long> not_finite_;  // metric: lines
};

}  // namespace

void plan_table(const Study& study, const Import& import, const std::string& table, bool inherited, ImportPlan& plan) {
  TablePlanner planner(study, import, table, inherited, plan);
  CsvReader csv([&](long long line, std::vector<std::string>& cells) { planner.take_row(line, cells); },
                [&](long long line, const std::string& text) { planner.problem(line, text); });
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
