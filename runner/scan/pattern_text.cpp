#include "scan/pattern_text.hpp"

#include <cctype>

namespace hpcbench {

std::string pattern_literal(std::string_view text) {
  constexpr std::string_view kSigns = "\\.+*?()|[]{}^$";
  std::string pattern;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\t') {
      pattern += "\\s+";
    } else if (text[i] == ' ') {
      const std::size_t begin = i;
      while (i + 1 < text.size() && text[i + 1] == ' ') ++i;
      pattern += i > begin ? " +" : " ";
    } else if (static_cast<unsigned char>(text[i]) >= 0x80 || static_cast<unsigned char>(text[i]) < 0x20 || text[i] == 0x7f) {
      pattern += '.';  // patterns match bytes
    } else {
      if (kSigns.find(text[i]) != std::string_view::npos) pattern += '\\';
      pattern += text[i];
    }
  }
  return pattern;
}

std::string index_pattern(std::string_view label, std::string_view separator, const std::string& name) {
  std::string pattern = std::isalnum(static_cast<unsigned char>(label.front())) != 0 ? "\\b" : "";
  pattern += pattern_literal(label);
  for (std::size_t i = 0; i < separator.size(); ++i) {
    if (separator[i] == ' ' || separator[i] == '\t') {
      while (i + 1 < separator.size() && (separator[i + 1] == ' ' || separator[i + 1] == '\t')) ++i;
      pattern += "\\s*";
    } else if (separator[i] == '\'' || separator[i] == '"') {
      pattern += std::string(1, separator[i]) + '?';
    } else {
      pattern += pattern_literal(separator.substr(i, 1));
    }
  }
  if (separator.empty() || separator.back() == ':') pattern += "\\s*";
  return pattern + "(?P<" + name + ">[0-9.]+)";
}

}  // namespace hpcbench
