#include "tasks/bert_squad/text/utf8.hpp"

namespace hpcbench::train {

std::optional<char32_t> next_code_point(std::string_view text, std::size_t& position) {
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const unsigned lead = byte(position);
  if (lead < 0x80) {
    ++position;
    return static_cast<char32_t>(lead);
  }
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() - position < length) return std::nullopt;
  char32_t code_point = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const unsigned next = byte(position + i);
    if ((next & 0xc0U) != 0x80) return std::nullopt;
    code_point = code_point << 6 | (next & 0x3fU);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code_point < kLeast[length] || code_point > 0x10ffff || (code_point >= 0xd800 && code_point < 0xe000))
    return std::nullopt;
  position += length;
  return code_point;
}

std::optional<std::size_t> first_invalid_utf8(std::string_view text) {
  std::size_t position = 0;
  while (position < text.size()) {
    if (static_cast<unsigned char>(text[position]) < 0x80) {
      ++position;
    } else if (!next_code_point(text, position)) {
      return position;
    }
  }
  return std::nullopt;
}

std::int32_t count_code_points(std::string_view text) {
  std::int32_t count = 0;
  for (const char byte : text) count += (static_cast<unsigned char>(byte) & 0xc0U) != 0x80;
  return count;
}

void append_utf8(std::string& text, char32_t code_point) {
  const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xc0 | code_point >> 6);
    put(0x80 | (code_point & 0x3f));
  } else {
    if (code_point < 0x10000) {
      put(0xe0 | code_point >> 12);
    } else {
      put(0xf0 | code_point >> 18);
      put(0x80 | (code_point >> 12 & 0x3f));
    }
    put(0x80 | (code_point >> 6 & 0x3f));
    put(0x80 | (code_point & 0x3f));
  }
}

}  // namespace hpcbench::train
