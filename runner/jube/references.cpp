#include "jube/references.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace hpcbench {

namespace {

bool is_name_byte(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Returns the length of the name at `at`, 0 if it begins with a digit.
std::size_t name_length(std::string_view text, std::size_t at) {
  if (at >= text.size() || std::isdigit(static_cast<unsigned char>(text[at])) != 0) return 0;
  std::size_t length = 0;
  while (at + length < text.size() && is_name_byte(text[at + length])) ++length;
  return length;
}

}  // namespace

bool climbs_out(std::string_view text) {
  constexpr std::string_view kUp = "../../../";
  for (std::size_t at = text.find(kUp); at != std::string_view::npos; at = text.find(kUp, at + 3)) {
    const bool begins =
        at == 0 || (!is_name_byte(text[at - 1]) && std::string_view("/.}-").find(text[at - 1]) == std::string_view::npos);
    if (begins) return true;
  }
  return false;
}

std::vector<JubePiece> jube_pieces(std::string_view text) {
  std::vector<JubePiece> pieces;
  const auto add_text = [&](std::string_view part) {
    if (pieces.empty() || pieces.back().is_name) pieces.emplace_back();
    pieces.back().text += part;
    pieces.back().written += part;
  };
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '$') {
      const std::size_t next = std::min(text.find('$', i), text.size());
      add_text(text.substr(i, next - i));
      i = next;
      continue;
    }
    if (text.substr(i).starts_with("$$")) {
      add_text("$");
      i += 2;
      continue;
    }
    const bool braced = text.substr(i).starts_with("${");
    const std::size_t begin = i + (braced ? 2 : 1);
    const std::size_t length = name_length(text, begin);
    const bool closed = !braced || (begin + length < text.size() && text[begin + length] == '}');
    if (length == 0 || !closed) {
      add_text("$");
      ++i;
      continue;
    }
    const std::size_t end = begin + length + (braced ? 1 : 0);
    pieces.push_back({true, std::string(text.substr(begin, length)), std::string(text.substr(i, end - i))});
    i = end;
  }
  return pieces;
}

}  // namespace hpcbench
