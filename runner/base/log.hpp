#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace hpcbench {

/// A record of the actions of hpcbench, for finding mistakes later:
///
///     2026-11-23T08:41:46.123Z [4711] info submitted 3f2a.../r01/a1 as job 815_0
///
/// A line is a record: UTC, pid, level, text; line ends and other control characters in it are escaped (`\n`, `\x1b`, `\\`).
/// Nothing that is measured depends on the log, and no failure to write it ends or changes anything.

enum class LogLevel { debug, info, warning, error, off };

std::optional<LogLevel> parse_log_level(std::string_view name);

/// Sets the lowest level that is written; initially `info`.
void set_log_level(LogLevel level);
/// Turns on or off that every record also goes to standard error.
void print_log(bool on);

/// Directs records to the end of this file. Several processes may write one file, each line in one call. At `most_bytes` the
/// file becomes PATH.1, PATH.1 becomes PATH.2, and the old PATH.2 is deleted. A process that rotates holds an fcntl lock and
/// first checks that PATH still is its file, so that two never rotate one after the other; one that finds a rotated file
/// continues in the new one. Without locks in the file system, two at once may delete the oldest file too early.
void open_log(const std::string& path, std::uint64_t most_bytes = 10'000'000);
void close_log();
/// Directs records to `file` (empty: to none) and returns the previous file, which can be restored later.
struct LogFile;
std::shared_ptr<LogFile> swap_log(const std::shared_ptr<LogFile>& file);

/// Returns the spelling of this text in a record.
std::string escaped_for_log(std::string_view text);

/// Returns the error of opening the file, or the first failed write; nullopt if there was none.
std::optional<std::string> log_problem();

void log_debug(std::string_view text);
void log_info(std::string_view text);
void log_warning(std::string_view text);
void log_error(std::string_view text);
/// Records a message that the terminal has shown: in the file alone.
void log_said(std::string_view text);

/// Returns whether records of this level are written anywhere, so that callers can skip expensive texts.
bool is_logged(LogLevel level);

}  // namespace hpcbench
