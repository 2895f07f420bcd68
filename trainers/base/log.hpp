#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace hpcbench::train {

/// Messages for people, through spdlog. On the terminal a text is one unchanged line: log_info() on standard output, the others
/// on standard error; "warning: ", "error: " or "note: " is part of the text. In a run of hpcbench the same text goes to a
/// file, which the first record creates:
///
/// 2026-11-23T08:41:46.123Z [rank 1, step 12] error rank 1 on node7: Connection reset by peer (step 12, optimizer step)
///
/// UTC, the current step (omitted before the first), the level, the text with its line ends escaped. If the file cannot be
/// written, records are lost but the run continues. May be used by several threads.

/// Sets the rank of the following records, and the file (empty: none). Call once, before the threads of a run start.
void open_log(int rank, const std::filesystem::path& file);
/// Sets the step of the following records.
void set_log_step(std::int64_t step);

void log_info(const std::string& text);
void log_warning(const std::string& text);
void log_error(const std::string& text);

}  // namespace hpcbench::train
