#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"

namespace hpcbench {

namespace {

/// Returns the length of the well-formed UTF-8 sequence at the start of `text`, 0 if it is ill-formed (Unicode 15, table 3-7).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  if (first < 0xE0) return follows(1) ? 2 : 0;
  if (first < 0xF0) {
    const bool bad = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F);
    return !bad && follows(1) && follows(2) ? 3 : 0;
  }
  const bool bad = (first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F);
  return !bad && follows(1) && follows(2) && follows(3) ? 4 : 0;
}

void append_code_point(std::string& out, unsigned code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0U | (code >> 6U));
    out += static_cast<char>(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0U | (code >> 12U));
    out += static_cast<char>(0x80U | ((code >> 6U) & 0x3FU));
    out += static_cast<char>(0x80U | (code & 0x3FU));
  } else {
    out += static_cast<char>(0xF0U | (code >> 18U));
    out += static_cast<char>(0x80U | ((code >> 12U) & 0x3FU));
    out += static_cast<char>(0x80U | ((code >> 6U) & 0x3FU));
    out += static_cast<char>(0x80U | (code & 0x3FU));
  }
}

std::optional<double> parse_number(std::string_view text) {
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return whole && number >= 0 && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::uint64_t leading_bytes(std::string_view text) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(value); ++i) {
    value = value << 8U | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0U);
  }
  return value;
}

void append_json_quote(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
    const std::size_t begin = i;
    while (i < text.size() && is_plain(text[i])) ++i;
    out += text.substr(begin, i - begin);
    if (i == text.size()) break;
    const char c = text[i];
    const std::size_t length = utf8_length(text.substr(i));
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      ++i;
      continue;
    }
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += text.substr(i, length);
    }
    i += length;
  }
  out += '"';
}

std::string json_quote(std::string_view text) {
  std::string out;
  append_json_quote(out, text);
  return out;
}

std::string json_unquote(std::string_view literal) {
  std::string out;
  const auto hex4 = [&](std::size_t at) {
    unsigned code = 0;
    if (at + 4 <= literal.size()) std::from_chars(literal.data() + at, literal.data() + at + 4, code, 16);
    return code;
  };
  for (std::size_t i = 1; i + 1 < literal.size(); ++i) {
    if (literal[i] != '\\') {
      out += literal[i];
      continue;
    }
    const char c = literal[++i];
    if (c == 'u') {
      unsigned code = hex4(i + 1);
      i += 4;
      if (code >= 0xD800 && code < 0xDC00 && i + 2 < literal.size() && literal[i + 1] == '\\' && literal[i + 2] == 'u') {
        code = 0x10000U + ((code - 0xD800U) << 10U) + (hex4(i + 3) - 0xDC00U);
        i += 6;
      }
      append_code_point(out, code);
      continue;
    }
    constexpr std::string_view kNames = "bfnrt";
    constexpr std::string_view kBytes = "\b\f\n\r\t";
    const std::size_t known = kNames.find(c);
    out += known == std::string_view::npos ? c : kBytes[known];
  }
  return out;
}

std::string shell_quote(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) throw InputError("error: a NUL byte cannot be part of a program's argument");
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  // Some shells interpret a leading `=` or `~`; the empty word needs quotes to exist.
  if (!text.empty() && text.front() != '=' && text.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(text);
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + '\'';
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool is_plain_name(std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !name.empty() && name.size() <= 100 && name.front() != '.' && name.front() != '-' &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

std::optional<double> parse_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  constexpr std::string_view kUnits = "smhd";
  constexpr double kSeconds[] = {1, 60, 3600, 86400};
  const std::size_t unit = kUnits.find(text.back());
  if (unit != std::string_view::npos) {
    const std::optional<double> count = parse_number(trim(text.substr(0, text.size() - 1)));
    return count ? std::optional(*count * kSeconds[unit]) : std::nullopt;
  }
  double days = 0;
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const std::optional<double> count = parse_number(text.substr(0, dash));
    if (!count) return std::nullopt;
    days = *count;
    text.remove_prefix(dash + 1);
  }
  std::vector<double> parts;
  for (const std::string& part : split(text, ':')) {
    const std::optional<double> number = parse_number(part);
    if (!number || parts.size() == 3) return std::nullopt;
    parts.push_back(*number);
  }
  // sbatch(1), --time: minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:seconds]].
  double seconds = 0;
  if (dash != std::string_view::npos) {
    constexpr double kScale[] = {3600, 60, 1};
    for (std::size_t i = 0; i < parts.size(); ++i) seconds += parts[i] * kScale[i];
  } else if (parts.size() == 3) {
    seconds = parts[0] * 3600 + parts[1] * 60 + parts[2];
  } else {
    seconds = parts[0] * 60 + (parts.size() == 2 ? parts[1] : 0);
  }
  return days * 86400 + seconds;
}

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == 0x1B) {
      // ECMA-48: ESC [ parameters, then one final byte from @ to ~.
      if (i + 1 < text.size() && text[i + 1] == '[') {
        for (i += 2; i < text.size() && (text[i] < '@' || text[i] > '~');) ++i;
      }
    } else if (c == '\t' || c == '\n') {
      out += ' ';
    } else if (c >= 0x20 && c != 0x7F) {
      out += text[i];
    }
  }
  return is_utf8(out) ? out : json_unquote(json_quote(out));
}

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

std::string counted(long long count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string plain_number(double value) {
  constexpr int kDigits = 3;
  constexpr int kMostDecimals = 12;
  const int exponent = value == 0 ? 0 : static_cast<int>(std::floor(std::log10(std::abs(value))));
  std::string text = fmt::format("{:.{}f}", value, std::clamp(kDigits - 1 - exponent, 0, kMostDecimals));
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string human_duration(double seconds) {
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::size_t character_count(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string aligned_rows(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], character_count(row[i]));
  }
  std::string out;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - character_count(row[i]) + 2, ' ');
    }
    out += line + '\n';
  }
  return out;
}

}  // namespace hpcbench
