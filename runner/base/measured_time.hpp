#pragma once

#include <optional>
#include <string_view>

namespace hpcbench {

/// A duration as programs and people print it, in seconds: `63 min 48 s`, `1 h 3 min`, `2m30.513s`, `12.98 min`, `1:03:48`
/// (h:mm:ss), `63:48.5` (mm:ss), `1-02:03:04` (days), `1-02:03` (days, hours, minutes). Correctly rounded. Absent for any other
/// text, also for a bare number.
std::optional<double> parse_measured_time(std::string_view text);

/// How many bytes a duration of several parts has at the beginning of `text`: 8 of `5m11.80s WALL`; 0 without one.
std::size_t length_of_measured_time(std::string_view text);

}  // namespace hpcbench
