#pragma once

#include <optional>
#include <string_view>

namespace hpcbench {

/// A measured time as programs and people print it, in seconds: `63 min 48 s`, `1 h 3 min`, `2m30.513s`, `12.98 min`, `1:03:48`
/// (h:mm:ss), `63:48.5` (mm:ss), `1-02:03:04` (days). Absent for all else, a bare number too.
std::optional<double> parse_measured_time(std::string_view text);

/// A number and nothing else, finite and without a sign of plus: `12`, `-0.5`, `1e-3`.
std::optional<double> parse_plain_number(std::string_view text);

}  // namespace hpcbench
