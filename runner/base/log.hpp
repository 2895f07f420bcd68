#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace hpcbench {

/// A record of what hpcbench did, for whoever looks for a mistake later:
///
///     2026-11-23T08:41:46.123Z [4711] info submitted 3f2a.../r01/a1 as job 815_0
///
/// A line is a record: UTC, pid, level, text; line ends and other control characters in it are escaped (`\n`, `\x1b`, `\\`).
/// Nothing that is measured depends on the log, and no failure to write it ends or changes anything.

enum class LogLevel { debug, info, warning, error, off };

std::optional<LogLevel> parse_log_level(std::string_view name);

/// The least level that is written; `info` at first.
void set_log_level(LogLevel level);
/// Every record goes to standard error, too.
void print_log(bool on);

/// Records go to the end of this file from now on. Several processes may write one file, each line in one call. At `most_bytes`
/// the file becomes PATH.1, PATH.1 becomes PATH.2, and that goes. Who rotates holds an fcntl lock on the file and looks first
/// whether PATH still is that file, so two never rotate one after the other; who finds that another has, goes on in the new
/// file. Where a file system has no locks, two at once may drop the oldest file too early.
void open_log(const std::string& path, std::uint64_t most_bytes = 10'000'000);
void close_log();
/// The file that records go to, to be put back later; records go to `file` from now on (empty: to none).
struct LogFile;
std::shared_ptr<LogFile> swap_log(const std::shared_ptr<LogFile>& file);

/// How a record spells this text.
std::string escaped_for_log(std::string_view text);

/// The error of opening the file, or its first failure; absent: none.
std::optional<std::string> log_problem();

void log_debug(std::string_view text);
void log_info(std::string_view text);
void log_warning(std::string_view text);
void log_error(std::string_view text);
/// A message that the terminal has shown: to the file alone.
void log_said(std::string_view text);

/// Whether records of this level go anywhere: spares texts that are expensive to make.
bool is_logged(LogLevel level);

}  // namespace hpcbench
