#include "store/database.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"
#include "base/files.hpp"

namespace hpcbench {

namespace fs = std::filesystem;

namespace {

constexpr int kBusyTimeoutMs = 30'000;
/// Threads never share a Store: SQLite need not lock for each column of each row.
constexpr int kOneThread = SQLITE_OPEN_NOMUTEX;
/// Up to this size every page is checked when the file is opened (some ms); a bad page of a larger file is found when it is
/// read.
constexpr std::uintmax_t kCheckedBytes = std::uintmax_t{4} << 20;

constexpr const char* kSchema = R"sql(
CREATE TABLE attempt (
  id INTEGER PRIMARY KEY,
  experiment TEXT NOT NULL,
  config_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  number INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  state TEXT NOT NULL,
  void INTEGER NOT NULL DEFAULT 0,
  aside INTEGER NOT NULL DEFAULT 0,
  aside_why TEXT,
  gpus INTEGER NOT NULL DEFAULT 1,
  executor TEXT NOT NULL DEFAULT '',
  job TEXT,
  batch TEXT,
  node TEXT,
  nodes TEXT,
  exit_code INTEGER,
  signal INTEGER,
  intended_unix_s REAL,
  started_unix_s REAL,
  finished_unix_s REAL,
  time_limit_s REAL,
  reason TEXT,
  path TEXT NOT NULL DEFAULT '',
  axes TEXT NOT NULL DEFAULT '{}',
  metrics TEXT NOT NULL DEFAULT '{}',
  units TEXT NOT NULL DEFAULT '{}',
  facts TEXT NOT NULL DEFAULT '{}',
  warnings TEXT NOT NULL DEFAULT '[]',
  rules TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX attempt_key ON attempt (experiment, config_id, kind, number, attempt);
CREATE INDEX attempt_state ON attempt (experiment, config_id, kind, number, attempt, state, void, aside, rules);
CREATE TABLE series (
  id INTEGER NOT NULL REFERENCES attempt (id),
  name TEXT NOT NULL,
  points TEXT NOT NULL,
  PRIMARY KEY (id, name)
) WITHOUT ROWID;
CREATE VIEW run AS
  SELECT * FROM attempt AS a WHERE void = 0 AND aside = 0 AND kind <> 'w' AND NOT EXISTS (
    SELECT 1 FROM attempt AS later WHERE later.experiment = a.experiment AND later.config_id = a.config_id
      AND later.kind = a.kind AND later.number = a.number AND later.attempt > a.attempt AND later.void = 0 AND later.aside = 0);
CREATE VIEW metric AS
  SELECT a.id, a.experiment, a.config_id, a.path, a.state, m.key AS name, m.value
    FROM attempt AS a, json_each(a.metrics) AS m;
CREATE VIEW axis AS
  SELECT a.id, a.experiment, a.config_id, a.path, x.key AS name, x.value FROM attempt AS a, json_each(a.axes) AS x;
CREATE VIEW fact AS
  SELECT a.id, a.experiment, a.config_id, a.path, f.key AS name, f.value FROM attempt AS a, json_each(a.facts) AS f;
CREATE VIEW warning AS
  SELECT a.id, a.experiment, a.config_id, a.path, w.value AS text FROM attempt AS a, json_each(a.warnings) AS w;
CREATE VIEW point AS
  SELECT a.id, a.experiment, a.config_id, a.path, s.name,
         json_extract(p.value, '$[0]') AS "index", json_extract(p.value, '$[1]') AS value
    FROM attempt AS a JOIN series AS s ON s.id = a.id, json_each(s.points) AS p;
)sql";

int schema_version(SQLite::Database& database) { return database.execAndGet("PRAGMA user_version").getInt(); }

/// Returns why the file is no whole index of this version; empty if it is one. A file without any table is new.
std::string why_not_usable(SQLite::Database& database, bool& is_new) {
  // One snapshot: another process may be creating the tables, and an old version number beside new tables would look broken.
  const SQLite::Transaction snapshot(database, SQLite::TransactionBehavior::DEFERRED);
  const int version = schema_version(database);
  const int tables = database.execAndGet("SELECT count(*) FROM sqlite_master").getInt();
  is_new = version == 0 && tables == 0;
  if (is_new) return {};
  if (version != kSchemaVersion) return fmt::format("it has schema version {}, this program reads {}", version, kSchemaVersion);
  // Statements that name every column detect a file of another program.
  const SQLite::Statement attempts(
      database,
      "SELECT void, aside, aside_why, path, nodes, axes, metrics, units, facts, warnings, reason, rules FROM attempt");
  const SQLite::Statement series(database, "SELECT id, name, points FROM series");
  std::error_code unknown;
  const std::uintmax_t size_bytes = fs::file_size(database.getFilename(), unknown);
  if (!unknown && size_bytes <= kCheckedBytes) {
    const std::string verdict = database.execAndGet("PRAGMA quick_check(1)").getString();
    if (verdict != "ok") return verdict;
  }
  return {};
}

void make_schema(SQLite::Database& database) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  // Another process may have been first.
  if (schema_version(database) != 0) return;
  database.exec(kSchema);
  database.exec(fmt::format("PRAGMA user_version = {}", kSchemaVersion));
  transaction.commit();
}

/// Rollback journal: WAL needs shared memory, which network file systems lack. NORMAL: a crash of the machine may lose the
/// latest writes, which the run directories still hold. TRUNCATE saves the removal of a file at every transaction.
void set_up_for_writing(SQLite::Database& database) {
  database.exec("PRAGMA journal_mode = TRUNCATE");
  database.exec("PRAGMA synchronous = NORMAL");
}

void require_writable(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  const fs::path folder = parent.empty() ? fs::path(".") : parent;
  make_folders(folder, kUserFolder);  // of all studies, perhaps of several users
  for (const fs::path& needed : {folder, fs::path(path)}) {
    if (::faccessat(AT_FDCWD, needed.c_str(), W_OK, AT_EACCESS) == 0 || (errno == ENOENT && needed == path)) continue;
    throw UnavailableError(
        fmt::format("error: cannot write {}: {}: name another folder with --results, or mend its permissions", needed.string(),
                    std::strerror(errno)));
  }
}

}  // namespace

bool means_broken(const SQLite::Exception& problem) {
  const int code = problem.getErrorCode() & 0xFF;
  // SQLITE_ERROR: the file lacks a table or column of a whole index.
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR || code == SQLITE_FORMAT;
}

void throw_unavailable(const std::string& path, const SQLite::Exception& problem) {
  const auto text = [&]() -> std::string {
    switch (problem.getErrorCode() & 0xFF) {
      case SQLITE_BUSY:
      case SQLITE_LOCKED:
        return "another process has kept it locked for 30 s: try again, or end that process (`fuser FILE` names it)";
      case SQLITE_FULL:
        return "no space left on the device: free some and call again; nothing is lost, the run directories hold everything";
      case SQLITE_READONLY:
      case SQLITE_PERM:
      case SQLITE_CANTOPEN:
        return fmt::format("{}: name another folder with --results, or mend its permissions", problem.what());
      case SQLITE_IOERR:  // SQLite reports EDQUOT so
        return fmt::format(
            "{}: your quota may be used up: free some space and call again; nothing is lost, and where that does "
            "not help `hpcbench db rebuild` makes it anew from the run directories",
            problem.what());
      default:
        return fmt::format("{}: call again; `hpcbench db rebuild` makes it anew from the run directories", problem.what());
    }
  };
  throw UnavailableError(fmt::format("error: {}: {}", path, text()));
}

FileIdentity identify_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino)};
}

std::optional<std::string> move_aside(const std::string& path, const FileIdentity& broken) {
  if (identify_file(path) != broken) return std::nullopt;
  for (int n = 1;; ++n) {
    const std::string aside = fmt::format("{}.broken-{}", path, n);
    // link fails if the name is taken, even between two processes; rename would replace the file.
    if (::link(path.c_str(), aside.c_str()) == 0) {
      ::unlink(path.c_str());
    } else if (errno == EEXIST) {
      continue;
    } else if (errno != ENOENT && ::rename(path.c_str(), aside.c_str()) != 0 && errno != ENOENT) {
      throw UnavailableError(
          fmt::format("error: cannot move {} aside: {}: remove it; it is made anew", path, std::strerror(errno)));
    }
    // SQLite would replay a journal that stayed into the new file.
    ::rename((path + "-journal").c_str(), (aside + "-journal").c_str());
    ::unlink((path + "-wal").c_str());
    ::unlink((path + "-shm").c_str());
    return aside;
  }
}

SQLite::Database open_database(const std::string& path, std::optional<std::string>& rebuilt) {
  const bool on_disk = path != ":memory:";
  if (on_disk) require_writable(path);
  for (int tries = 0;; ++tries) {
    std::string why;
    // Only the owner may write files that SQLite creates, but the umask should decide. This applies to a new file only: closing
    // a descriptor releases locks of this process.
    if (on_disk) const Descriptor made(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    const FileIdentity file = identify_file(path);
    try {
      SQLite::Database database(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | kOneThread, kBusyTimeoutMs);
      bool is_new = false;
      why = why_not_usable(database, is_new);
      if (why.empty()) {
        set_up_for_writing(database);
        if (is_new) make_schema(database);
        return database;
      }
    } catch (const SQLite::Exception& problem) {
      if (!on_disk || !means_broken(problem) || tries > 0) throw_unavailable(path, problem);
      why = problem.what();
    }
    if (tries > 0) throw UnavailableError(fmt::format("error: {}: {}: remove it; it is made anew", path, why));
    const std::optional<std::string> aside = move_aside(path, file);
    rebuilt = aside ? fmt::format("{} (the old file is {})", why, *aside) : why;
  }
}

std::optional<SQLite::Database> open_database_readonly(const std::string& path) {
  try {
    SQLite::Database database(path, SQLite::OPEN_READONLY | kOneThread, kBusyTimeoutMs);
    bool is_new = false;
    if (!why_not_usable(database, is_new).empty() || is_new) return std::nullopt;
    return database;
  } catch (const SQLite::Exception&) {
    return std::nullopt;
  }
}

}  // namespace hpcbench
