#pragma once

#include <string>
#include <string_view>

namespace hpcbench {

/// Text as a regular expression that matches it: signs are escaped, runs of blanks are ` +`.
std::string pattern_literal(std::string_view text);

/// Finds the index of a line, as group `name`: `\bstep: +(?P<step>[0-9.]+)`.
std::string index_pattern(std::string_view label, std::string_view separator, const std::string& name);

}  // namespace hpcbench
