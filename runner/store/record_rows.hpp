#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <optional>
#include <string>
#include <string_view>

#include "ingest/attempt_record.hpp"

namespace hpcbench {

// Converts records to rows of the table `attempt` (docs/database.md), and back.

/// The columns that RowReader reads, in order; `id` is the first.
inline constexpr const char* kRecordColumns =
    "id, config_id, kind, number, attempt, state, gpus, executor, job, batch, node, nodes, exit_code, signal, intended_unix_s, "
    "started_unix_s, finished_unix_s, time_limit_s, reason, axes, metrics, units, facts, warnings, rules, aside, aside_why, "
    "void";

/// Omits what only tables show: axes, units, facts other than `nan`, and warnings read as empty.
inline constexpr const char* kStandingColumns =
    "id, config_id, kind, number, attempt, state, gpus, executor, job, batch, node, nodes, exit_code, signal, intended_unix_s, "
    "started_unix_s, finished_unix_s, time_limit_s, reason, '{}', metrics, '{}', "
    "CASE WHEN instr(facts, '\"nan\":') > 0 THEN json_object('nan', json_extract(facts, '$.nan')) ELSE '{}' END, '[]', rules, "
    "aside, aside_why, void";

/// Inserts a record: its key (parameters 1 to 5), its other fields, and its id (30), NULL for a new one.
inline constexpr const char* kInsertRecord =
    "INSERT INTO attempt (experiment, config_id, kind, number, attempt, state, void, gpus, executor, job, batch, node, nodes, "
    "exit_code, signal, intended_unix_s, started_unix_s, finished_unix_s, time_limit_s, reason, path, axes, metrics, units, "
    "facts, warnings, rules, aside, aside_why, id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
    "?, ?, ?, ?, ?, ?, ?, ?)";
inline constexpr int kIdParameter = 30;

/// Binds parameters 1 to 5: experiment, config_id, kind, number, attempt.
void bind_key(SQLite::Statement& statement, const std::string& experiment, const AttemptKey& key);
/// Binds all parameters of kInsertRecord but the id, which is then NULL.
void bind_record(SQLite::Statement& row, const AttemptRecord& record);

/// Returns the key in four columns from this one.
AttemptKey read_key(SQLite::Statement& row, int first_column);
/// Returns the state of a word; intended for an unknown word: the run directory then decides.
State read_state(std::string_view word);
Standing read_standing(SQLite::Statement& row, int column);
/// Returns a text column, valid until the next step.
std::string_view text_at(SQLite::Statement& row, int column);

/// Reads rows of kRecordColumns. Repeats have equal axes and follow each other, so it shares their values.
struct RowReader {
  std::string experiment;
  std::string axes_text;
  Bindings axes;

  /// Returns the record without its series.
  AttemptRecord read(SQLite::Statement& row);
};

}  // namespace hpcbench
