#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "words/did_you_mean.hpp"

namespace hpcbench {

std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string_view trim(std::string_view text);
/// Returns the text with ASCII letters in lower case; other characters are unchanged.
std::string lower_case(std::string_view text);

/// Returns the first 8 bytes as a number that sorts like the text (0 if it is shorter). Sorting by it first compares neighbours
/// in memory, and reads the texts only where the numbers are equal.
std::uint64_t leading_bytes(std::string_view text);

/// Returns `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string json_quote(std::string_view text);
void append_json_quote(std::string& out, std::string_view text);
/// Returns the text of a well-formed JSON string literal.
std::string json_unquote(std::string_view literal);

/// Returns `text` as one word of a POSIX shell that means exactly these bytes; plain words are unchanged. InputError for a NUL
/// byte, which cannot be passed to a program.
std::string shell_quote(std::string_view text);

/// Returns true for well-formed UTF-8 (no surrogates, no overlong forms).
bool is_utf8(std::string_view text);

/// Returns one line for people, without terminal escapes and control characters; bytes that are no UTF-8 are replaced.
std::string printable(std::string_view text);
/// Returns the number of characters of valid UTF-8.
std::size_t character_count(std::string_view text);
/// Returns a line for each row, with two blanks between columns. At least one row; all have as many cells.
std::string aligned_rows(const std::vector<std::vector<std::string>>& rows);

/// Returns true for a name that is one plain file name: letters, digits, `.`, `_`, `-`; not starting with `.` or `-`; at most
/// 100 bytes.
bool is_plain_name(std::string_view name);

/// Returns the seconds of a wall time: `02:00:00`, `1-12:00:00`, `90` (minutes, as in Slurm), `45s`, `45 s`, `10m`, `2h`, `1d`;
/// nullopt if it is none.
std::optional<double> parse_duration(std::string_view text);

/// Returns the whole text as a number of at least 0; nullopt for any other text, such as UNLIMITED.
std::optional<int> whole_number(std::string_view text);

/// Returns a count with its noun: `1 run`, `3 runs`.
std::string counted(long long count, std::string_view one, std::string_view many);

/// Returns seconds in units that are easy to read: `4.2 s`, `3 min 20 s`, `2 h 05 min`.
std::string human_duration(double seconds);
/// Returns at most three significant digits, without an exponent: `0.0000939`, `1.5`, `1234`.
std::string plain_number(double value);

}  // namespace hpcbench
