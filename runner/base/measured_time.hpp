#pragma once

#include <optional>
#include <string_view>

namespace hpcbench {

/// Parses a duration as programs and people print it, in seconds: `63 min 48 s`, `1 h 3 min`, `2m30.513s`, `12.98 min`,
/// `1:03:48` (h:mm:ss), `63:48.5` (mm:ss), `1-02:03:04` (days), `1-02:03` (days, hours, minutes). Correctly rounded. nullopt
/// for any other text, including a bare number.
std::optional<double> parse_measured_time(std::string_view text);

/// Returns the length in bytes of a duration of several parts at the beginning of `text`: 8 for `5m11.80s WALL`; 0 without one.
std::size_t length_of_measured_time(std::string_view text);

}  // namespace hpcbench
