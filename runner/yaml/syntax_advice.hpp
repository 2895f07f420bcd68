#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hpcbench {

inline constexpr const char* kQuoteAdvice =
    "YAML reads `{` as the start of a map: put quotes around the text, \"--size={{size}}\"";

inline constexpr const char* kOperatorAdvice =
    "a text that starts with `|`, `>` or `&` needs quotes; pipes and redirections need a shell: [bash, -c, 'a | b > c']";

/// Returns the probable mistake behind `message`, an error of yaml-cpp; empty if it is unknown. `line` contains the error,
/// `before` is the line above it, `at` the position in `line`.
std::string syntax_advice(const std::string& message, std::string_view before, std::string_view line, std::size_t at);

}  // namespace hpcbench
