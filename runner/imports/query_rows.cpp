#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/host.hpp"
#include "imports/table_rows.hpp"

namespace hpcbench {

namespace {

constexpr double kLongestQuery = 60;  // seconds
constexpr int kStepsBetweenLooks = 100'000;
constexpr long long kMostRows = 1'000'000;
constexpr int kLargestText = 1 << 20;

struct CloseDatabase {
  void operator()(sqlite3* database) const { ::sqlite3_close_v2(database); }
};
struct FinishStatement {
  void operator()(sqlite3_stmt* statement) const { ::sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
using Statement = std::unique_ptr<sqlite3_stmt, FinishStatement>;

/// `%` and what a URI takes for the end of its path.
std::string uri_of(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) uri += c == '%' ? "%25" : c == '?' ? "%3f" : c == '#' ? "%23" : std::string(1, c);
  return uri + "?mode=ro&immutable=1";
}

/// A database that another program has open may hold changes that its file does not have yet.
std::string unwritten_changes(const std::string& path) {
  for (const char* const ending : {"-wal", "-journal"}) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path + ending, error);
    if (!error && size > 0) {
      return fmt::format(
          "{}{} holds changes that are not in the file yet: end the program that writes it, or import a copy by "
          "`sqlite3 FILE \".backup COPY\"`",
          std::filesystem::path(path).filename().string(), ending);
    }
  }
  return "";
}

std::vector<std::string> cells_of(sqlite3_stmt* statement, int count) {
  std::vector<std::string> cells;
  for (int i = 0; i < count; ++i) {
    const auto* text = reinterpret_cast<const char*>(::sqlite3_column_text(statement, i));
    cells.emplace_back(text == nullptr ? ""
                                       : std::string(text, static_cast<std::size_t>(::sqlite3_column_bytes(statement, i))));
  }
  return cells;
}

void give_rows(sqlite3* database, sqlite3_stmt* statement, const RowTaker& taker) {
  const int count = ::sqlite3_column_count(statement);
  std::vector<std::string> headings;
  for (int i = 0; i < count; ++i) headings.emplace_back(::sqlite3_column_name(statement, i));
  std::vector<CsvReader::CellPlace> places(headings.size(), {1, 1});
  taker.row(1, headings, places);
  long long row = 1;  // as a line: the headings are the first
  for (int code = ::sqlite3_step(statement); code != SQLITE_DONE; code = ::sqlite3_step(statement)) {
    if (code == SQLITE_INTERRUPT) return taker.problem(1, fmt::format("`query` takes over {} s", kLongestQuery));
    if (code != SQLITE_ROW) return taker.problem(1, fmt::format("`query` failed: {}", ::sqlite3_errmsg(database)));
    if (++row > kMostRows) return taker.problem(1, fmt::format("`query` gives more than {} rows", kMostRows));
    for (CsvReader::CellPlace& place : places) place.line = row;
    taker.row(row, cells_of(statement, count), places);
  }
}

}  // namespace

bool is_sqlite_table(const std::string& path) {
  return path.ends_with(".db") || path.ends_with(".sqlite") || path.ends_with(".sqlite3");
}

void read_query_rows(const std::string& path, const std::string& query, const RowTaker& taker) {
  if (const std::string changes = unwritten_changes(path); !changes.empty()) return taker.problem(1, changes);
  sqlite3* opened = nullptr;
  const int code = ::sqlite3_open_v2(uri_of(path).c_str(), &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  const Database database(opened);
  if (code != SQLITE_OK) return taker.problem(1, fmt::format("cannot be opened: {}", ::sqlite3_errstr(code)));
  ::sqlite3_limit(opened, SQLITE_LIMIT_ATTACHED, 0);
  ::sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, kLargestText);
  double end = monotonic_s() + kLongestQuery;
  ::sqlite3_progress_handler(
      opened, kStepsBetweenLooks, [](void* until) { return monotonic_s() > *static_cast<const double*>(until) ? 1 : 0; }, &end);
  sqlite3_stmt* prepared = nullptr;
  const char* rest = nullptr;
  const int is_bad = ::sqlite3_prepare_v2(opened, query.c_str(), static_cast<int>(query.size()), &prepared, &rest);
  const Statement statement(prepared);
  if (is_bad != SQLITE_OK) return taker.problem(1, fmt::format("`query` failed: {}", ::sqlite3_errmsg(opened)));
  if (prepared == nullptr || ::sqlite3_column_count(prepared) == 0 || ::sqlite3_stmt_readonly(prepared) == 0)
    return taker.problem(1, "`query` is no SELECT");
  if (std::string(rest).find_first_not_of(" \t\r\n;") != std::string::npos)
    return taker.problem(1, "`query` holds more than one statement");
  give_rows(opened, prepared, taker);
}

}  // namespace hpcbench
