#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hpcbench::train {

/// Returns the code point that begins at `text[position]`, and moves `position` behind it; nullopt, leaving `position`
/// unchanged, if the bytes are no UTF-8 (too short, overlong, a surrogate, beyond U+10FFFF). `position` must be inside.
std::optional<char32_t> next_code_point(std::string_view text, std::size_t& position);

/// Returns the place of the first byte that is no UTF-8; nullopt for a valid text.
std::optional<std::size_t> first_invalid_utf8(std::string_view text);

/// Returns the number of code points of a valid text.
std::int32_t count_code_points(std::string_view text);

/// Appends a code point, which must not be a surrogate.
void append_utf8(std::string& text, char32_t code_point);

}  // namespace hpcbench::train
