#include "report/escapes.hpp"

#include <fmt/format.h>

#include <cctype>

#include "base/text.hpp"

namespace hpcbench {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// Returns whether this byte continues a character of UTF-8.
bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

/// Returns the position of the `count`-th character after `from`.
std::size_t skip_characters(std::string_view text, std::size_t from, std::size_t count) {
  while (from < text.size() && count > 0) {
    ++from;
    while (from < text.size() && is_continuation(text[from])) ++from;
    --count;
  }
  return from;
}

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

std::string_view latex_of(char c) {
  switch (c) {
    case '\\':
      return "\\textbackslash{}";
    case '{':
      return "\\{";
    case '}':
      return "\\}";
    case '$':
      return "\\$";
    case '&':
      return "\\&";
    case '#':
      return "\\#";
    case '%':
      return "\\%";
    case '_':
      return "\\_";
    case '^':
      return "\\textasciicircum{}";
    case '~':
      return "\\textasciitilde{}";
    case '<':
      return "\\textless{}";
    case '>':
      return "\\textgreater{}";
    case '|':
      return "\\textbar{}";
    case '"':
      return "\\textquotedbl{}";
    case '\'':
      return "\\textquotesingle{}";
    case '`':
      return "\\textasciigrave{}";
    case '[':
      return "{[}";
    case ']':
      return "{]}";
    case '*':
      return "{*}";
    default:
      return "";
  }
}

}  // namespace

std::string visible_text(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (is_control(c)) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      result += c;
    }
  }
  return result;
}

std::string valid_utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  return json_unquote(json_quote(text));  // JSON has the same rule
}

std::string escape_html(std::string_view text) {
  const std::string shown = visible_text(valid_utf8(text));
  std::string result;
  result.reserve(shown.size());
  for (const char c : shown) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string escape_markdown(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool inside_word = i > 0 && i + 1 < text.size() && is_word_character(text[i - 1]) && is_word_character(text[i + 1]);
    if (c == '\n') {
      result += "<br>";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      result += ' ';
    } else {
      const bool is_markup = std::string_view("\\|*<&`~$").find(c) != std::string_view::npos || (c == '_' && !inside_word) ||
                             text.substr(i, 2) == "](";
      if (is_markup) result += '\\';
      result += c;
    }
  }
  return result;
}

std::string escape_latex(std::string_view text) {
  std::string result;
  char before = ' ';
  for (const char c : visible_text(valid_utf8(text))) {
    // T1 fonts combine two characters into one: the `--` of an option to a dash, `,,` to a quotation mark.
    if (c == before && (c == '-' || c == ',')) result += "{}";
    before = c;
    const std::string_view command = latex_of(c);
    if (command.empty()) {
      result += c;
    } else {
      result += command;
    }
  }
  return result;
}

std::string escape_workflow(std::string_view text, bool is_property) {
  std::string out;
  for (const char c : text) {
    const bool is_special = c == '%' || c == '\r' || c == '\n' || (is_property && (c == ':' || c == ','));
    out += is_special ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string{c};
  }
  return out;
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out += ',';
    if (cells[i].find_first_of(",\"\r\n") == std::string::npos) {
      out += cells[i];
      continue;
    }
    out += '"';
    for (const char c : cells[i]) {
      if (c == '"') out += '"';
      out += c;
    }
    out += '"';
  }
  return out + '\n';
}

std::string elide(std::string_view text, std::size_t limit) {
  const std::size_t count = character_count(text);
  if (count <= limit || limit < 3) return std::string(text);
  const std::size_t head = (limit - 1) * 2 / 3;
  const std::size_t tail = limit - 1 - head;
  return std::string(text.substr(0, skip_characters(text, 0, head))) + "…" +
         std::string(text.substr(skip_characters(text, 0, count - tail)));
}

std::string gnuplot_string(std::string_view text, std::size_t limit) {
  std::string result = "'";
  for (const char c : elide(valid_utf8(text), limit)) {
    if (c == '\'') result += '\'';
    result += is_control(c) ? ' ' : c;
  }
  return result + "'";
}

}  // namespace hpcbench
