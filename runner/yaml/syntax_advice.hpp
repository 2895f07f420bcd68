#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hpcbench {

inline constexpr const char* kQuoteAdvice =
    "YAML reads `{` as the start of a map: put quotes around the text, \"--size={{size}}\"";

inline constexpr const char* kOperatorAdvice =
    "a text that starts with `|`, `>` or `&` needs quotes; pipes and redirections need a shell: [bash, -c, 'a | b > c']";

/// What a person more likely did than `message`, yaml-cpp's, says; empty if nobody knows. `line` is that of the error, `before`
/// the one above it, `at` where in `line` the error is.
std::string syntax_advice(const std::string& message, std::string_view before, std::string_view line, std::size_t at);

}  // namespace hpcbench
