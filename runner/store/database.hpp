#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hpcbench {

/// PRAGMA user_version of the schema in docs/database.md; raise it with every change of the schema.
inline constexpr int kSchemaVersion = 5;

/// Opens `path` for writing and creates the schema. First moves a file aside that is no usable index of this version; `rebuilt`
/// then gives the reason. UnavailableError if it cannot be written.
SQLite::Database open_database(const std::string& path, std::optional<std::string>& rebuilt);

/// Opens without writing. nullopt if `path` is no usable index of this version.
std::optional<SQLite::Database> open_database_readonly(const std::string& path);

/// Identifies the file behind a name: another process may have moved a broken file aside and created a new one.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;  // 0: no file
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};
FileIdentity identify_file(const std::string& path);

/// Moves a broken file and its journal aside. Returns its new name, or nullopt if `path` no longer names that file.
std::optional<std::string> move_aside(const std::string& path, const FileIdentity& broken);

/// Returns whether an error of SQLite means a broken file: one of another program, cut short, or with a bad page.
bool means_broken(const SQLite::Exception& problem);
/// Throws an UnavailableError that states what happened and what to do.
[[noreturn]] void throw_unavailable(const std::string& path, const SQLite::Exception& problem);

}  // namespace hpcbench
