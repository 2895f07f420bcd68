#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hpcbench::train {

/// The code point that begins at `text[position]`, and `position` moved behind it; nullopt, and `position` as it was, where the
/// bytes are no UTF-8 (too short, overlong, a surrogate, beyond U+10FFFF). `position` must be inside.
std::optional<char32_t> next_code_point(std::string_view text, std::size_t& position);

/// The place of the first byte that is no UTF-8; nullopt for a valid text.
std::optional<std::size_t> first_invalid_utf8(std::string_view text);

/// Code points of a valid text.
std::int32_t count_code_points(std::string_view text);

/// Appends a code point, which must not be a surrogate.
void append_utf8(std::string& text, char32_t code_point);

}  // namespace hpcbench::train
