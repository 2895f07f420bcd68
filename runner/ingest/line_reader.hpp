#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace hpcbench {

/// Reads a regular file of any size, unpacked where it is a `.gz` or `.zst` (unpacked_file.hpp), in pieces of whole lines,
/// holding 1 MiB of it at a time, or a longer line. Each piece ends after a newline but the last one of the file, and where one
/// line is longer than 64 MiB: that one comes in several pieces, which end after a carriage return if it has any (progress bars
/// write lines without an end). `take` answers false to stop. Returns why the file cannot be read (`no such file`), or nothing.
std::optional<std::string> read_lines(const std::string& path, const std::function<bool(std::string_view)>& take);

/// Reads a whole file into `text`, unpacked, without the mark of UTF-8. Stops once the text is longer than `largest` bytes.
/// Returns why the file cannot be read, or nothing.
std::optional<std::string> read_text(const std::string& path, std::size_t largest, std::string& text);

/// The content of a small regular file; absent if it is not there. Never throws: a file that cannot be read, or is larger than
/// 64 MiB, is absent too and `problem` says why.
std::optional<std::string> read_small_file(const std::string& path, std::string& problem);

/// The last line of `text` with a letter or a digit. mpirun and others draw lines of dashes around
/// their messages. Without such a line, the last line that is not blank.
std::string_view last_line(std::string_view text);

}  // namespace hpcbench
