#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace hpcbench::train {

/// What the program says to people, through spdlog. On the terminal a text stands as it is, one line: of log_info() on standard
/// output, of the others on standard error; "warning: ", "error: " or "note: " is a part of it. In a run of hpcbench the same
/// goes to a file, which the first record makes:
///
///     2026-11-23T08:41:46.123Z [rank 1, step 12] error rank 1 on node7: Connection reset by peer (step 12, optimizer step)
///
/// UTC, the step that is computed (left out before the first), the level, the text with its line ends escaped. A file that
/// cannot be written costs records, never a run. May be used by several threads.

/// Whose records follow, and the file (empty: none). Once, before the threads of a run.
void open_log(int rank, const std::filesystem::path& file);
/// The step of the records from now on.
void set_log_step(std::int64_t step);

void log_info(const std::string& text);
void log_warning(const std::string& text);
void log_error(const std::string& text);

}  // namespace hpcbench::train
