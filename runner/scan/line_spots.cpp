#include "scan/line_spots.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "base/measured_time.hpp"
#include "base/text.hpp"
#include "base/written_number.hpp"
#include "scan/metric_name.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kMostSpots = 64;
constexpr std::size_t kLongestLabel = 60;
constexpr std::size_t kLongestKey = 48;
constexpr std::array kWordsWithoutMeaning = {"of", "at", "in", "on", "for", "to", "is", "by", "with", "and", "a"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_word_byte(char c) { return is_word_letter(c) || is_digit(c); }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

char byte_at(std::string_view text, std::size_t at) { return at < text.size() ? text[at] : '\0'; }

/// Whether text begins as a form in which `0` stands for any digit.
bool has_form(std::string_view text, std::string_view form) {
  if (text.size() < form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (form[i] == '0' ? !is_digit(text[i]) : text[i] != form[i]) return false;
  }
  return true;
}

/// `2026-03-04 09:11:20,104`, `03/12/2026`; 0 for anything else.
std::size_t length_of_date(std::string_view text) {
  constexpr std::array<std::string_view, 3> kForms = {"0000-00-00", "0000/00/00", "00/00/0000"};
  const auto form = std::find_if(kForms.begin(), kForms.end(), [&](std::string_view each) { return has_form(text, each); });
  if (form == kForms.end()) return 0;
  std::size_t end = form->size();
  if (std::string_view("T_ ").find(byte_at(text, end)) == std::string_view::npos || !has_form(text.substr(end + 1), "00:00"))
    return end;
  for (end += 1;
       end < text.size() && (is_digit(text[end]) || std::string_view(":.,").find(text[end]) != std::string_view::npos); ++end) {
    if (!is_digit(text[end]) && !is_digit(byte_at(text, end + 1))) break;
  }
  return byte_at(text, end) == 'Z' ? end + 1 : end;
}

/// Letters and digits, and `-` or `.` between them: `A100-PCIE-40GB`, `cuda12.8`. Of `time13204.8807` it is `time`: programs
/// print numbers that fill their column so.
std::size_t length_of_word(std::string_view text) {
  std::size_t letters = 0;
  while (letters < text.size() && is_word_letter(text[letters])) ++letters;
  std::size_t point = letters;
  while (point < text.size() && is_digit(text[point])) ++point;
  std::size_t end = point + 1;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (letters > 2 && point > letters && byte_at(text, point) == '.' && end - point > 3 && !is_word_byte(byte_at(text, end)))
    return letters;
  std::size_t at = 0;
  while (at < text.size()) {
    const bool joins = (text[at] == '-' || text[at] == '.') && is_word_byte(byte_at(text, at + 1));
    if (!is_word_byte(text[at]) && !joins) break;
    ++at;
  }
  return at;
}

/// What stands at a digit or a sign: a number, or something to skip.
struct NumberToken {
  std::size_t begin = 0, end = 0;  // of the number
  std::size_t stop = 0;            // where the search continues
  bool is_number = false;
  bool is_duration = false, is_of_total = false;
};

std::size_t skip_blanks(std::string_view line, std::size_t at) {
  while (at < line.size() && is_blank(line[at])) ++at;
  return at;
}

NumberToken read_token(std::string_view line, std::size_t at) {
  NumberToken token{at, at, at};
  if (const std::size_t date = length_of_date(line.substr(at)); date > 0) {
    token.end = token.stop = at + date;
    return token;
  }
  const std::size_t first = is_digit(line[at]) || line[at] == '.' ? at : at + 1;
  const char before = at == 0 ? ' ' : line[at - 1];
  const bool is_part = std::string_view("/-\\@^*$.").find(before) != std::string_view::npos || is_word_byte(before);
  if (const std::size_t length = length_of_measured_time(line.substr(first)); length > 0 && first == at) {
    token.end = token.stop = at + length;
    token.is_duration = true;
    token.is_number = !is_part && !is_word_byte(byte_at(line, token.end));
    return token;
  }
  std::size_t digits = first;
  while (is_digit(byte_at(line, digits))) ++digits;
  if (digits == first) digits = first + 1;  // `.5`
  const std::string_view number = whole_number(line, at, digits, false);
  token.end = token.stop = at + number.size();
  const bool is_readable = read_written_number(number, DecimalMark::unknown).kind != WrittenNumber::Kind::none ||
                           read_written_number(number, DecimalMark::comma).kind == WrittenNumber::Kind::number;
  const char behind = byte_at(line, token.end);
  std::size_t word = token.end;
  while (is_word_byte(byte_at(line, word)) || (byte_at(line, word) == '/' && is_word_letter(byte_at(line, word + 1)))) ++word;
  const std::string_view touching = line.substr(token.end, word - token.end);
  constexpr std::string_view kLetters = "KMGTP";
  const bool is_size = touching.size() == 1 && kLetters.find(touching.front()) != std::string_view::npos;
  const bool is_minutes = touching == "m";
  const bool fits = touching.empty() || is_size || is_minutes || is_unit_text(touching);
  const bool was_glued = at > 0 && is_word_letter(before);  // of a word that length_of_word cut
  token.is_number = is_readable && fits && (!is_part || was_glued) && behind != '^' && behind != '-';
  if (is_minutes) {
    token.end = token.stop = token.end + 1;
    token.is_duration = true;
  }
  if (!fits) token.stop = token.end + length_of_word(line.substr(token.end));
  const std::size_t slash = skip_blanks(line, token.end);
  const std::size_t total = skip_blanks(line, slash + 1);
  if (byte_at(line, slash) == '/' && total < line.size() && is_digit(line[total])) {
    token.is_of_total = true;
    for (token.stop = total; token.stop < line.size() && is_digit(line[token.stop]);) ++token.stop;
  }
  return token;
}

std::vector<NumberToken> tokens_of(std::string_view line) {
  std::vector<NumberToken> tokens;
  for (std::size_t at = 0; at < line.size() && tokens.size() < kMostSpots;) {
    const char c = line[at];
    const bool is_sign = (c == '-' || c == '+' || c == '.') && is_digit(byte_at(line, at + 1)) &&
                         (at == 0 || (!is_word_byte(line[at - 1]) && line[at - 1] != ')' && line[at - 1] != '.'));
    if (is_word_letter(c)) {
      at += length_of_word(line.substr(at));
    } else if (is_digit(c) || is_sign) {
      tokens.push_back(read_token(line, at));
      at = std::max(tokens.back().stop, at + 1);
    } else {
      ++at;
    }
  }
  return tokens;
}

/// Where a label that ends at `end` begins: behind a comma, bar, bracket, two blanks ..., not before `low`.
std::size_t label_begin(std::string_view line, std::size_t low, std::size_t end) {
  const char last = line[end - 1];
  const bool is_quoted = last == '\'' || last == '"';
  int depth = 0;
  bool in_bracket = false;
  for (std::size_t i = end; i > low; --i) {
    const char c = line[i - 1];
    if (is_quoted) {
      if (c == last && i < end) return i - 1;
      continue;
    }
    if (c == ')') ++depth;
    if (c == '(' && depth-- == 0) return i;
    if (c == ']' && i == end) in_bracket = true;
    if (c == '[' && in_bracket) {
      in_bracket = false;
      continue;
    }
    if (depth > 0 || in_bracket) continue;
    if (std::string_view(",;|{}<>[]=:'\"#\t~!").find(c) != std::string_view::npos) return i;
    const bool is_wide = c == ' ' && i < end && is_blank(line[i]);
    const bool is_dash = c == '-' && i > 1 && is_blank(line[i - 2]) && i < line.size() && is_blank(line[i]);
    if (is_wide || is_dash) return i;
  }
  return is_quoted ? end : low;
}

bool is_without_meaning(std::string_view word) {
  return std::find(kWordsWithoutMeaning.begin(), kWordsWithoutMeaning.end(), word) != kWordsWithoutMeaning.end();
}

bool has_letter(std::string_view text) { return std::any_of(text.begin(), text.end(), is_word_letter); }

/// Where `"key": "accuracy", ` before `"value"` begins; `at` without such a text.
std::size_t begin_of_pair(std::string_view line, std::size_t at) {
  if (!line.substr(0, at).ends_with("\", ") || at < 4) return at;
  const std::size_t open = line.rfind('"', at - 4);
  if (open == std::string_view::npos || !line.substr(0, open).ends_with("\": ") || open < 4) return at;
  const std::size_t key = line.rfind('"', open - 4);
  return key == std::string_view::npos || at - key > kLongestLabel ? at : key;
}

/// Sets the label of a spot from the text between the token before it (`low`) and its number.
void find_label(std::string_view line, std::size_t low, bool follows_number, Spot& spot) {
  std::size_t end = spot.begin;
  const auto strip = [&](std::string_view bytes) {
    while (end > low && bytes.find(line[end - 1]) != std::string_view::npos) --end;
  };
  strip(" \t'\"~<");
  spot.is_keyed = end > low && (line[end - 1] == ':' || line[end - 1] == '=');
  if (spot.is_keyed) {
    --end;
    strip(" \t");
  } else {
    end = spot.begin;
    strip(" \t~<");
  }
  if (end == low) return;
  std::size_t begin = label_begin(line, low, end);
  const bool is_assigned = spot.is_keyed && line[end] == '=';
  if (is_assigned) {
    std::size_t word = end;
    while (word > begin && !is_blank(line[word - 1])) --word;
    begin = word;
  }
  begin = std::min(skip_blanks(line, begin), end);
  while (end - begin > kLongestLabel) {
    const std::size_t blank = line.find(' ', begin);
    if (blank == std::string_view::npos || blank >= end) break;
    begin = blank + 1;
  }
  spot.label = line.substr(begin, end - begin);
  if (spot.label.size() > kLongestLabel || !has_letter(spot.label) || is_without_meaning(spot.label)) {
    spot.label = {};
    return;
  }
  if (spot.label == "\"value\"") begin = begin_of_pair(line, begin);
  spot.label = line.substr(begin, end - begin);
  // `99.00 percentile latency (ns)  : 168302917`
  const bool is_number_in_label = follows_number && begin == low + 1 && line[low] == ' ' && spot.is_keyed && !is_assigned &&
                                  trim(line.substr(0, low)).find_first_not_of("0123456789.") == std::string_view::npos;
  if (is_number_in_label) {
    begin = skip_blanks(line, 0);
    spot.label = line.substr(begin, end - begin);
  }
  spot.separator = line.substr(end, spot.begin - end);
  const std::size_t boundary = begin >= 2 ? begin - 2 : 0;
  spot.before = trim(line.substr(0, begin)).empty() ? std::string_view() : line.substr(boundary, begin - boundary);
}

/// The unit behind a number, and the words behind that.
void find_right(std::string_view line, std::size_t next, Spot& spot) {
  const std::size_t begin = skip_blanks(line, spot.end);
  std::size_t end = begin;
  while (end < next && std::string_view(" \t\r,;:=()[]|'\"").find(line[end]) == std::string_view::npos) ++end;
  std::string_view word = line.substr(begin, end - begin);
  if (word.ends_with('.')) word.remove_suffix(1);
  const bool touches = begin == spot.end;
  const bool names_next = byte_at(line, end) == ':' || byte_at(line, end) == '=';
  const bool is_letter = touches && word.size() == 1 && std::string_view("KMGTP").find(word) != std::string_view::npos;
  std::size_t at = begin;
  if (!names_next && begin - spot.end <= 1 && (is_unit_text(word) || is_letter)) {
    spot.unit = word;
    spot.gap = line.substr(spot.end, begin - spot.end);
    at = skip_blanks(line, begin + word.size());
  }
  const std::size_t first = at;
  while (at < next && std::string_view("#,;|()[]{}:=\t\"").find(line[at]) == std::string_view::npos &&
         !(line[at] == ' ' && is_blank(byte_at(line, at + 1))))
    ++at;
  std::string_view right = trim(line.substr(first, at - first));
  const std::size_t last = right.rfind(' ');
  // `02:00:14 of 02:00:00`: behind a row's key the word alone tells the number from others.
  if (is_without_meaning(right.substr(last + 1)) && last != std::string_view::npos) right = right.substr(0, last);
  if (has_letter(right) && right.size() <= kLongestLabel && byte_at(line, at) != ':' && byte_at(line, at) != '=')
    spot.right = right;
}

/// `LOOP+` before `:  cpu time`: text at the beginning of a line that a colon ends, and no number follows at once.
std::string_view row_key_of(std::string_view line) {
  std::size_t begin = skip_blanks(line, 0);
  while (byte_at(line, begin) == '[') {
    const std::size_t close = line.find(']', begin);
    if (close == std::string_view::npos) return {};
    begin = close + 1;
    while (byte_at(line, begin) == ':' || is_blank(byte_at(line, begin))) ++begin;
  }
  const std::size_t colon = line.find(':', begin);
  if (colon == std::string_view::npos || colon - begin > kLongestKey || !is_blank(byte_at(line, colon + 1))) return {};
  const std::string_view key = trim(line.substr(begin, colon - begin));
  if (!has_letter(key) || key.find_first_of("0123456789={}\",'[]") != std::string_view::npos) return {};
  return key;
}

}  // namespace

std::vector<Spot> find_spots(std::string_view line) {
  std::vector<Spot> spots;
  if (line.find("%|") != std::string_view::npos) return spots;  // a progress bar
  const std::vector<NumberToken> tokens = tokens_of(line);
  const std::string_view key = tokens.empty() ? std::string_view() : row_key_of(line);
  std::size_t low = 0;
  bool follows_number = false;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const NumberToken& token = tokens[i];
    if (!token.is_number) {
      low = token.stop;
      follows_number = false;
      continue;
    }
    Spot spot;
    spot.begin = token.begin;
    spot.end = token.end;
    spot.is_duration = token.is_duration;
    spot.is_of_total = token.is_of_total;
    find_label(line, low, follows_number, spot);
    const bool is_place = spot.separator == ":" && spot.label.find('/') != std::string_view::npos;  // `core/util/port.cc:153`
    if (is_place) {
      low = token.stop;
      follows_number = false;
      continue;
    }
    if (!token.is_of_total) find_right(line, i + 1 < tokens.size() ? tokens[i + 1].begin : line.size(), spot);
    // Of `1h 8m CPU     1h12m WALL` and `64 CPUs 0.0142 s/step` the words belong to the number before them.
    const bool follows_at_once =
        follows_number && !spot.label.empty() && !spot.is_keyed && spot.label.data() == line.data() + low + 1;
    const bool is_far = spot.separator.size() > 1;
    if (follows_at_once && (is_far || spot.unit.find('/') != std::string_view::npos)) spot.label = spot.separator = {};
    if (!key.empty() && spot.begin > static_cast<std::size_t>(key.data() - line.data()) + key.size() &&
        spot.label.data() != key.data())
      spot.row_key = key;
    low = spot.unit.empty() ? token.stop : static_cast<std::size_t>(spot.unit.data() - line.data()) + spot.unit.size();
    follows_number = true;
    spots.push_back(spot);
  }
  return spots;
}

std::vector<std::string_view> aligned_cells(std::string_view line, bool at_each_blank) {
  std::vector<std::string_view> cells;
  std::size_t begin = skip_blanks(line, 0);
  for (std::size_t at = begin; at <= line.size() && begin < line.size(); ++at) {
    const bool is_end = at == line.size();
    const bool is_gap = !is_end && is_blank(line[at]) && (at_each_blank || line[at] == '\t' || is_blank(byte_at(line, at + 1)));
    if (!is_end && !is_gap) continue;
    if (at > begin) cells.push_back(trim(line.substr(begin, at - begin)));
    begin = skip_blanks(line, at);
    at = std::max(at, begin);
  }
  return cells;
}

bool is_number_cell(std::string_view cell) {
  if (cell.empty() || cell.size() > kLongestLabel) return false;
  const bool begins = is_digit(cell.front()) ||
                      ((cell.front() == '-' || cell.front() == '+' || cell.front() == '.') && is_digit(byte_at(cell, 1)));
  if (!begins) return false;
  using Kind = WrittenNumber::Kind;
  if (const Kind kind = read_written_number(cell, DecimalMark::unknown).kind; kind == Kind::number || kind == Kind::unclear)
    return true;
  return read_written_number(cell, DecimalMark::comma).kind == Kind::number;
}

}  // namespace hpcbench
