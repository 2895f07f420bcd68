#include "store/record_rows.hpp"

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "base/json_text.hpp"
#include "base/json_writer.hpp"
#include "store/record_text.hpp"
#include "store/store.hpp"

namespace hpcbench {

namespace {

void bind_optional(SQLite::Statement& statement, int column, const std::optional<std::string>& text) {
  if (text) statement.bind(column, *text);
}
void bind_optional(SQLite::Statement& statement, int column, const std::optional<int>& number) {
  if (number) statement.bind(column, *number);
}
void bind_optional(SQLite::Statement& statement, int column, const std::optional<double>& number) {
  if (number && std::isfinite(*number)) statement.bind(column, *number);
}

template <class T>
std::optional<T> optional_at(SQLite::Statement& row, int column) {
  const SQLite::Column value = row.getColumn(column);
  if (value.isNull()) return std::nullopt;
  if constexpr (std::is_same_v<T, std::string>) return value.getString();
  if constexpr (std::is_same_v<T, int>) return value.getInt();
  if constexpr (std::is_same_v<T, double>) return value.getDouble();
}

}  // namespace

void bind_key(SQLite::Statement& statement, const std::string& experiment, const AttemptKey& key) {
  statement.bind(1, experiment);
  statement.bind(2, key.config_id);
  statement.bind(3, std::string(1, run_letter(key.run.kind)));
  statement.bind(4, key.run.number);
  statement.bind(5, key.attempt);
}

void bind_record(SQLite::Statement& row, const AttemptRecord& record) {
  row.clearBindings();
  bind_key(row, record.experiment, record.key);
  row.bind(6, std::string(to_string(record.state)));
  row.bind(7, record.is_void ? 1 : 0);
  row.bind(8, record.gpus);
  row.bind(9, record.executor);
  bind_optional(row, 10, record.job);
  bind_optional(row, 11, record.batch);
  bind_optional(row, 12, record.node);
  bind_optional(row, 13, record.nodes);
  bind_optional(row, 14, record.exit_code);
  bind_optional(row, 15, record.signal);
  bind_optional(row, 16, record.intended_unix_s);
  bind_optional(row, 17, record.started_unix_s);
  bind_optional(row, 18, record.finished_unix_s);
  bind_optional(row, 19, record.time_limit_s);
  bind_optional(row, 20, record.reason);
  row.bind(21, to_string(record.key));
  row.bind(22, bindings_json(record.axes));
  row.bind(23, numbers_json(record.metrics));
  row.bind(24, to_json(record.units));
  row.bind(25, to_json(record.facts));
  row.bind(26, to_json(record.warnings));
  row.bind(27, record.rules);
  row.bind(28, static_cast<int>(record.aside ? record.aside->standing() : Standing::normal));
  if (record.aside) row.bind(29, record.aside->why);
}

AttemptKey read_key(SQLite::Statement& row, int first_column) {
  const std::string_view kind = text_at(row, first_column + 1);
  const std::optional<RunKind> known = kind.size() == 1 ? parse_run_letter(kind.front()) : std::nullopt;
  return {row.getColumn(first_column).getString(),
          {known.value_or(RunKind::repeat), row.getColumn(first_column + 2).getInt()},
          row.getColumn(first_column + 3).getInt()};
}

std::string_view text_at(SQLite::Statement& row, int column) {
  const SQLite::Column value = row.getColumn(column);
  const char* text = value.getText("");
  return {text, static_cast<std::size_t>(value.getBytes())};
}

Standing read_standing(SQLite::Statement& row, int column) {
  const int number = row.getColumn(column).getInt();
  return number == 1 ? Standing::set_aside : number == 2 ? Standing::measure_again : Standing::normal;
}

State read_state(std::string_view word) { return parse_state(word).value_or(State::intended); }

AttemptRecord RowReader::read(SQLite::Statement& row) {
  AttemptRecord record;
  record.experiment = experiment;
  record.key = read_key(row, 1);
  record.state = read_state(text_at(row, 5));
  record.gpus = row.getColumn(6).getInt();
  record.executor = row.getColumn(7).getString();
  record.job = optional_at<std::string>(row, 8);
  record.batch = optional_at<std::string>(row, 9);
  record.node = optional_at<std::string>(row, 10);
  record.nodes = optional_at<std::string>(row, 11);
  record.exit_code = optional_at<int>(row, 12);
  record.signal = optional_at<int>(row, 13);
  record.intended_unix_s = optional_at<double>(row, 14);
  record.started_unix_s = optional_at<double>(row, 15);
  record.finished_unix_s = optional_at<double>(row, 16);
  record.time_limit_s = optional_at<double>(row, 17);
  record.reason = optional_at<std::string>(row, 18);
  if (const std::string_view text = text_at(row, 19); text != axes_text) {
    axes_text = text;
    axes = json_bindings(text);
  }
  record.axes = axes;
  record.metrics = read_numbers(text_at(row, 20));
  record.units = read_texts(text_at(row, 21));
  record.facts = read_texts(text_at(row, 22));
  record.warnings = read_list(text_at(row, 23));
  record.rules = text_at(row, 24);
  record.is_void = row.getColumn(27).getInt() != 0;
  if (const Standing standing = read_standing(row, 25); standing != Standing::normal) {
    record.aside = SetAside{std::string(text_at(row, 26)), standing == Standing::measure_again, "", std::nullopt};
  }
  return record;
}

}  // namespace hpcbench
