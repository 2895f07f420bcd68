#include "tasks/bert_squad/score/normalise.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>

namespace hpcbench::train {

namespace {

/// Decodes UTF-8; invalid bytes become U+DC80 ... U+DCFF, as in Python's surrogateescape: equal only to themselves.
std::u32string code_points_of(std::string_view text) {
  std::u32string points;
  points.reserve(text.size());
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (std::size_t i = 0; i < text.size();) {
    utf8proc_int32_t point = 0;
    const utf8proc_ssize_t size = utf8proc_iterate(bytes + i, static_cast<utf8proc_ssize_t>(text.size() - i), &point);
    points += size > 0 ? static_cast<char32_t>(point) : char32_t{0xDC00} + bytes[i];
    i += size > 0 ? static_cast<std::size_t>(size) : 1;
  }
  return points;
}

template <std::size_t N>
bool is_in(char32_t point, const std::array<std::array<char32_t, 2>, N>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) { return range[0] <= point && point <= range[1]; });
}

utf8proc_category_t category_of(char32_t point) { return utf8proc_category(static_cast<utf8proc_int32_t>(point)); }

/// Returns Unicode's Case_Ignorable: Mn, Me, Cf, Lm, Sk and the marks inside words.
bool is_case_ignorable(char32_t point) {
  constexpr std::array<char32_t, 15> kInsideWords = {0x27,   0x2E,   0x3A,   0xB7,   0x387,  0x55F,  0x5F4, 0x2018,
                                                     0x2019, 0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07};
  if (std::find(kInsideWords.begin(), kInsideWords.end(), point) != kInsideWords.end()) return true;
  if (point == 0xFF0E || point == 0xFF1A) return true;
  switch (category_of(point)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return false;
  }
}

/// Returns Unicode's Cased, for characters that are not Case_Ignorable.
bool is_cased(char32_t point) {
  constexpr std::array<std::array<char32_t, 2>, 6> kOtherCased = {
      {{0xAA, 0xAA}, {0xBA, 0xBA}, {0x2160, 0x217F}, {0x24B6, 0x24E9}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}}};
  const utf8proc_category_t category = category_of(point);
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL || category == UTF8PROC_CATEGORY_LT ||
         is_in(point, kOtherCased) || (0x1F170 <= point && point <= 0x1F189);
}

/// Returns Unicode's Final_Sigma: a capital sigma at the end of a word.
bool is_final_sigma(const std::u32string& points, std::size_t place) {
  std::size_t before = place;
  while (before > 0 && is_case_ignorable(points[before - 1])) --before;
  if (before == 0 || !is_cased(points[before - 1])) return false;
  std::size_t after = place + 1;
  while (after < points.size() && is_case_ignorable(points[after])) ++after;
  return after == points.size() || !is_cased(points[after]);
}

/// Like str.lower: the full mapping of Unicode, which differs from the simple one for two characters.
std::u32string lower_case(const std::u32string& points) {
  constexpr char32_t kCapitalSigma = 0x3A3;
  constexpr char32_t kDottedCapitalI = 0x130;
  std::u32string lower;
  lower.reserve(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i] == kDottedCapitalI) {
      lower += U"i\u0307";
    } else if (points[i] == kCapitalSigma) {
      lower += is_final_sigma(points, i) ? U'\u03c2' : U'\u03c3';
    } else {
      lower += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(points[i])));
    }
  }
  return lower;
}

bool is_ascii_punctuation(char32_t point) {
  return (0x21 <= point && point <= 0x2F) || (0x3A <= point && point <= 0x40) || (0x5B <= point && point <= 0x60) ||
         (0x7B <= point && point <= 0x7E);
}

/// Like str.isspace.
bool is_python_space(char32_t point) {
  constexpr std::array<std::array<char32_t, 2>, 10> kSpaces = {{{0x09, 0x0D},
                                                                {0x1C, 0x20},
                                                                {0x85, 0x85},
                                                                {0xA0, 0xA0},
                                                                {0x1680, 0x1680},
                                                                {0x2000, 0x200A},
                                                                {0x2028, 0x2029},
                                                                {0x202F, 0x202F},
                                                                {0x205F, 0x205F},
                                                                {0x3000, 0x3000}}};
  return is_in(point, kSpaces);
}

/// Like \w of re without the underscore, which is punctuation and already removed: letters and numbers; no marks.
bool is_word_character(char32_t point) {
  switch (category_of(point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return true;
    default:
      return false;
  }
}

/// Replaces \b(a|an|the)\b by a space.
std::u32string without_articles(const std::u32string& points) {
  std::u32string rest;
  rest.reserve(points.size());
  for (std::size_t i = 0; i < points.size();) {
    std::size_t end = i;
    while (end < points.size() && is_word_character(points[end])) ++end;
    const std::u32string_view word = std::u32string_view(points).substr(i, end - i);
    if (word.empty()) {
      rest += points[i++];
      continue;
    }
    if (word == U"a" || word == U"an" || word == U"the") {
      rest += U' ';
    } else {
      rest += word;
    }
    i = end;
  }
  return rest;
}

}  // namespace

std::vector<std::u32string> answer_words(std::string_view text) {
  std::u32string points = lower_case(code_points_of(text));
  std::erase_if(points, is_ascii_punctuation);
  points = without_articles(points);
  std::vector<std::u32string> words;
  for (auto place = points.begin(); place != points.end();) {
    place = std::find_if_not(place, points.end(), is_python_space);
    const auto end = std::find_if(place, points.end(), is_python_space);
    if (place != end) words.emplace_back(place, end);
    place = end;
  }
  return words;
}

}  // namespace hpcbench::train
