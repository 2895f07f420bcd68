#include "store/store.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "base/error.hpp"
#include "base/key_order.hpp"
#include "base/series_point.hpp"
#include "store/database.hpp"
#include "store/program_versions.hpp"
#include "store/record_rows.hpp"
#include "store/record_text.hpp"

namespace hpcbench {

struct Store::Impl {
  Impl(std::string database_path, SQLite::Database open, std::optional<std::string> why)
      : path(std::move(database_path)), file(identify_file(path)), database(std::move(open)), rebuilt(std::move(why)) {}

  std::string path;
  FileIdentity file;
  mutable SQLite::Database database;
  std::optional<std::string> rebuilt;

  /// Runs `work` and translates an error of SQLite into a message with advice.
  template <class Work>
  auto guarded(Work work) const {
    try {
      return work();
    } catch (const SQLite::Exception& problem) {
      if (!means_broken(problem) || path == ":memory:") throw_unavailable(path, problem);
      const std::string aside = move_aside(path, file).value_or("gone");
      throw UnavailableError(
          fmt::format("error: {} was broken ({}) and is now {}: call again; it is made anew from the run directories", path,
                      problem.what(), aside));
    }
  }

  /// Runs `work` in one short BEGIN IMMEDIATE transaction: it waits for other writers at its start, not later.
  template <class Work>
  void write(Work work) {
    guarded([&] {
      SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
      work();
      transaction.commit();
    });
  }
};

namespace {

constexpr const char* kKeyMatches = " WHERE experiment = ? AND config_id = ? AND kind = ? AND number = ? AND attempt = ?";

void put_series(SQLite::Statement& remove, SQLite::Statement& insert, std::int64_t id, const AttemptRecord& record) {
  remove.bind(1, id);
  remove.exec();
  remove.reset();
  for (const auto& [name, points] : series_json(record.series)) {
    insert.bind(1, id);
    insert.bind(2, name);
    insert.bind(3, points);
    insert.exec();
    insert.reset();
  }
}

/// Returns the names of all outcomes, quoted, for an SQL list.
std::string outcome_names() {
  std::string names;
  for (const State state : kStates) {
    if (is_outcome(state)) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", to_string(state));
  }
  return names;
}

/// Calls `visit(id, record)` for the rows of `relation` (attempt or run), sorted by key.
template <class Visit>
void each_record(SQLite::Database& database, const char* columns, const std::string& relation, const std::string& experiment,
                 const Visit& visit) {
  SQLite::Statement rows(
      database,
      fmt::format("SELECT {} FROM {} WHERE experiment = ? ORDER BY config_id, kind, number, attempt", columns, relation));
  rows.bind(1, experiment);
  RowReader reader{experiment, {}, {}};
  while (rows.executeStep()) visit(rows.getColumn(0).getInt64(), reader.read(rows));
}

std::size_t count_attempts(SQLite::Database& database, const std::string& experiment) {
  SQLite::Statement count(database, "SELECT count(*) FROM attempt WHERE experiment = ?");
  count.bind(1, experiment);
  count.executeStep();
  return static_cast<std::size_t>(count.getColumn(0).getInt64());
}

/// Returns records of `relation` (attempt or run), sorted by key, with their series if requested. The number of queries does
/// not depend on the number of records.
std::vector<AttemptRecord> read_records(SQLite::Database& database, const std::string& relation, const std::string& experiment,
                                        bool with_series) {
  SQLite::Transaction snapshot(database);
  std::vector<AttemptRecord> records;
  std::vector<std::int64_t> ids;
  if (relation == "run" || relation == "attempt")
    records.reserve(count_attempts(database, experiment));  // growing would need half as much again
  each_record(database, kRecordColumns, relation, experiment, [&](std::int64_t id, AttemptRecord&& record) {
    ids.push_back(id);
    records.push_back(std::move(record));
  });
  if (!with_series) return records;
  SQLite::Statement series(
      database,
      "SELECT s.id, s.name, s.points FROM attempt AS a JOIN series AS s ON s.id = a.id WHERE a.experiment = ? "
      "ORDER BY s.id, s.name");
  series.bind(1, experiment);
  std::unordered_map<std::int64_t, std::size_t> places;
  while (series.executeStep()) {
    if (places.empty()) {
      for (std::size_t i = 0; i < ids.size(); ++i) places.emplace(ids[i], i);
    }
    const auto place = places.find(series.getColumn(0).getInt64());
    if (place == places.end()) continue;
    read_points(series.getColumn(1).getString(), text_at(series, 2), records[place->second].series);
  }
  return records;
}

}  // namespace

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

Store Store::open(const std::string& path) {
  std::optional<std::string> rebuilt;
  SQLite::Database database = open_database(path, rebuilt);
  return Store(std::make_unique<Impl>(path, std::move(database), std::move(rebuilt)));
}

std::optional<Store> Store::open_readonly(const std::string& path) {
  std::optional<SQLite::Database> database = open_database_readonly(path);
  if (!database) return std::nullopt;
  return Store(std::make_unique<Impl>(path, *std::move(database), std::nullopt));
}

const std::optional<std::string>& Store::rebuilt() const { return impl_->rebuilt; }

void Store::put(const std::vector<AttemptRecord>& records) {
  if (records.empty()) return;
  impl_->write([&] {
    SQLite::Database& database = impl_->database;
    SQLite::Statement find(database, fmt::format("SELECT id FROM attempt{}", kKeyMatches));
    SQLite::Statement insert(database, kInsertRecord);
    SQLite::Statement remove(database, "DELETE FROM attempt WHERE id = ?");
    SQLite::Statement remove_series(database, "DELETE FROM series WHERE id = ?");
    SQLite::Statement insert_series(database, "INSERT INTO series (id, name, points) VALUES (?, ?, ?)");
    for (const AttemptRecord& record : records) {
      bind_key(find, record.experiment, record.key);
      const bool known = find.executeStep();
      const std::int64_t old_id = known ? find.getColumn(0).getInt64() : 0;
      find.reset();
      bind_record(insert, record);
      if (known) {
        remove.bind(1, old_id);
        remove.exec();
        remove.reset();
        insert.bind(kIdParameter, old_id);
      }
      insert.exec();
      insert.reset();
      if (known || !record.series.empty()) put_series(remove_series, insert_series, database.getLastInsertRowid(), record);
    }
  });
}

void Store::put_states(const std::string& experiment, const std::vector<AttemptState>& states) {
  if (states.empty()) return;
  impl_->write([&] {
    // `path` follows from the key, the only source so far; a record that is put later replaces the whole row.
    SQLite::Statement put(
        impl_->database,
        fmt::format("INSERT INTO attempt (experiment, config_id, kind, number, attempt, state, path) "
                    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) "
                    "ON CONFLICT (experiment, config_id, kind, number, attempt) DO UPDATE SET state = excluded.state "
                    "WHERE attempt.state NOT IN ({0}) OR excluded.state IN ({0})",
                    outcome_names()));
    // Runs are submitted in random order. Rows in the order of the indexes are appended to their pages; rows in another order
    // would each change a page of their own, read and written again from a cache that cannot hold them all.
    for (const AttemptState* state : in_key_order(states, [](const AttemptState& each) -> auto& { return each.key; })) {
      bind_key(put, experiment, state->key);
      put.bind(6, std::string(to_string(state->state)));
      put.bind(7, to_string(state->key));
      put.exec();
      put.reset();
    }
  });
}

void Store::reopen(const std::string& experiment, const std::vector<AttemptKey>& keys) {
  if (keys.empty()) return;
  impl_->write([&] {
    SQLite::Statement update(impl_->database,
                             fmt::format("UPDATE attempt SET state = '{}'{}", to_string(State::running), kKeyMatches));
    for (const AttemptKey& key : keys) {
      bind_key(update, experiment, key);
      update.exec();
      update.reset();
    }
  });
}

void Store::forget(const std::string& experiment, const std::vector<AttemptKey>& keys) {
  if (keys.empty()) return;
  impl_->write([&] {
    SQLite::Statement remove_series(impl_->database,
                                    fmt::format("DELETE FROM series WHERE id IN (SELECT id FROM attempt{})", kKeyMatches));
    SQLite::Statement remove(impl_->database, fmt::format("DELETE FROM attempt{}", kKeyMatches));
    for (const AttemptKey& key : keys) {
      for (SQLite::Statement* statement : {&remove_series, &remove}) {
        bind_key(*statement, experiment, key);
        statement->exec();
        statement->reset();
      }
    }
  });
}

void Store::clear(const std::optional<std::string>& experiment) {
  impl_->write([&] {
    for (const char* text : {"DELETE FROM series WHERE ?1 IS NULL OR id IN (SELECT id FROM attempt WHERE experiment = ?1)",
                             "DELETE FROM attempt WHERE ?1 IS NULL OR experiment = ?1"}) {
      SQLite::Statement statement(impl_->database, text);
      if (experiment) statement.bind(1, *experiment);
      statement.exec();
    }
  });
}

std::vector<AttemptState> Store::states(const std::string& experiment) const {
  return impl_->guarded([&] {
    std::vector<AttemptState> states;
    SQLite::Statement rows(
        impl_->database,
        "SELECT config_id, kind, number, attempt, state, void, aside, rules FROM attempt INDEXED BY attempt_state "
        "WHERE experiment = ? ORDER BY config_id, kind, number, attempt");
    rows.bind(1, experiment);
    while (rows.executeStep()) {
      states.push_back({read_key(rows, 0), read_state(text_at(rows, 4)), rows.getColumn(5).getInt() != 0,
                        std::string(text_at(rows, 7)), read_standing(rows, 6)});
    }
    return states;
  });
}

std::vector<AttemptRecord> Store::attempts(const std::string& experiment) const {
  return impl_->guarded([&] { return read_records(impl_->database, "attempt", experiment, true); });
}

std::vector<AttemptRecord> Store::counting_attempts(const std::string& experiment, bool with_series) const {
  return impl_->guarded([&] { return read_records(impl_->database, "run", experiment, with_series); });
}

std::vector<AttemptRecord> Store::set_aside_attempts(const std::string& experiment, bool with_series) const {
  return impl_->guarded([&] {
    return read_records(impl_->database, "(SELECT * FROM attempt WHERE aside > 0 AND void = 0)", experiment, with_series);
  });
}

void Store::visit_counting_attempts(const std::string& experiment, const std::function<void(AttemptRecord&&)>& visit) const {
  impl_->guarded([&] {
    each_record(impl_->database, kStandingColumns, "run", experiment,
                [&](std::int64_t /*id*/, AttemptRecord&& record) { visit(std::move(record)); });
  });
}

void Store::visit_program_facts(
    const std::string& experiment,
    const std::function<void(const AttemptKey&, double intended_unix_s, const NameMap<std::string>&)>& visit) const {
  impl_->guarded([&] {
    SQLite::Statement rows(impl_->database,
                           "SELECT config_id, kind, number, attempt, coalesce(intended_unix_s, 0), facts FROM run "
                           "WHERE experiment = ? AND (instr(facts, '\"code:') > 0 OR instr(facts, '\"program:') > 0) "
                           "ORDER BY config_id, kind, number, attempt");
    rows.bind(1, experiment);
    while (rows.executeStep()) {
      NameMap<std::string> facts = read_texts(text_at(rows, 5));
      facts.erase_if([](const auto& fact) { return !ProgramVersions::is_program_fact(fact.first); });
      if (!facts.empty()) visit(read_key(rows, 0), rows.getColumn(4).getDouble(), facts);
    }
  });
}

std::map<std::string, double> Store::mean_wall_times(const std::string& experiment) const {
  return impl_->guarded([&] {
    std::map<std::string, double> times;
    SQLite::Statement rows(impl_->database,
                           "SELECT config_id, avg(json_extract(metrics, '$.wall_s')) AS mean FROM attempt WHERE experiment = ? "
                           "AND state = 'succeeded' AND kind = 'r' AND aside = 0 GROUP BY config_id HAVING mean IS NOT NULL");
    rows.bind(1, experiment);
    while (rows.executeStep()) times[rows.getColumn(0).getString()] = rows.getColumn(1).getDouble();
    return times;
  });
}

}  // namespace hpcbench
