#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hpcbench {

/// PRAGMA user_version of the schema in docs/database.md; to be raised with every change of it.
inline constexpr int kSchemaVersion = 5;

/// Opens `path` for writing, with the schema in it. Moves a file that is no usable index of this version aside first; `rebuilt`
/// says why. UnavailableError if it cannot be written.
SQLite::Database open_database(const std::string& path, std::optional<std::string>& rebuilt);

/// Opens without writing. Absent if there is no usable index of this version.
std::optional<SQLite::Database> open_database_readonly(const std::string& path);

/// Which file a name stands for: another process may have moved a broken one aside and made a new one.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;  // 0: no file
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};
FileIdentity identify_file(const std::string& path);

/// Moves a broken file and its journal aside. Returns its new name, or nothing if `path` no longer stands for that file.
std::optional<std::string> move_aside(const std::string& path, const FileIdentity& broken);

/// Whether an error of SQLite means that the file itself is broken: another program's, cut short, a bad page.
bool means_broken(const SQLite::Exception& problem);
/// For a person: what happened and what to do. Throws an UnavailableError.
[[noreturn]] void throw_unavailable(const std::string& path, const SQLite::Exception& problem);

}  // namespace hpcbench
