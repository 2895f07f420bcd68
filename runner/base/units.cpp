#include "base/units.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "base/text.hpp"

namespace hpcbench {
namespace {

/// A unit as a multiple of another one: `min` is 60 `s`.
struct UnitWord {
  std::string base;
  double factor = 1;
  bool is_known = false;
};

struct KnownUnitWord {
  const char* word;
  const char* base;
  double factor;
};

constexpr double kSecondsOfMinute = 60;
constexpr double kSecondsOfHour = 3600;
constexpr double kSecondsOfDay = 86400;
constexpr double kSecondsOfWeek = 7 * kSecondsOfDay;
constexpr std::array kUnitWords = {KnownUnitWord{"s", "s", 1},
                                   KnownUnitWord{"sec", "s", 1},
                                   KnownUnitWord{"secs", "s", 1},
                                   KnownUnitWord{"second", "s", 1},
                                   KnownUnitWord{"seconds", "s", 1},
                                   KnownUnitWord{"ms", "s", 1e-3},
                                   KnownUnitWord{"msec", "s", 1e-3},
                                   KnownUnitWord{"millisecond", "s", 1e-3},
                                   KnownUnitWord{"milliseconds", "s", 1e-3},
                                   KnownUnitWord{"us", "s", 1e-6},
                                   KnownUnitWord{"usec", "s", 1e-6},
                                   KnownUnitWord{"microsecond", "s", 1e-6},
                                   KnownUnitWord{"microseconds", "s", 1e-6},
                                   KnownUnitWord{"nsec", "s", 1e-9},
                                   KnownUnitWord{"nanosecond", "s", 1e-9},
                                   KnownUnitWord{"nanoseconds", "s", 1e-9},
                                   KnownUnitWord{"\u00b5s", "s", 1e-6},
                                   KnownUnitWord{"\u03bcs", "s", 1e-6},
                                   KnownUnitWord{"ns", "s", 1e-9},
                                   KnownUnitWord{"ps", "s", 1e-12},
                                   KnownUnitWord{"fs", "s", 1e-15},
                                   KnownUnitWord{"min", "s", kSecondsOfMinute},
                                   KnownUnitWord{"mins", "s", kSecondsOfMinute},
                                   KnownUnitWord{"minute", "s", kSecondsOfMinute},
                                   KnownUnitWord{"minutes", "s", kSecondsOfMinute},
                                   KnownUnitWord{"h", "s", kSecondsOfHour},
                                   KnownUnitWord{"hr", "s", kSecondsOfHour},
                                   KnownUnitWord{"hrs", "s", kSecondsOfHour},
                                   KnownUnitWord{"hour", "s", kSecondsOfHour},
                                   KnownUnitWord{"hours", "s", kSecondsOfHour},
                                   KnownUnitWord{"d", "s", kSecondsOfDay},
                                   KnownUnitWord{"day", "s", kSecondsOfDay},
                                   KnownUnitWord{"days", "s", kSecondsOfDay},
                                   KnownUnitWord{"week", "s", kSecondsOfWeek},
                                   KnownUnitWord{"weeks", "s", kSecondsOfWeek},
                                   KnownUnitWord{"month", "month", 1},  // of no fixed length
                                   KnownUnitWord{"months", "month", 1},
                                   KnownUnitWord{"year", "year", 1},
                                   KnownUnitWord{"years", "year", 1},
                                   KnownUnitWord{"GPU", "gpu", 1},
                                   KnownUnitWord{"GPUs", "gpu", 1},
                                   KnownUnitWord{"device", "gpu", 1},
                                   KnownUnitWord{"chip", "gpu", 1},
                                   KnownUnitWord{"rank", "rank", 1},
                                   KnownUnitWord{"process", "rank", 1},
                                   KnownUnitWord{"node", "node", 1},
                                   KnownUnitWord{"core", "core", 1}};

/// Units that take the prefixes k, M, G, T and P, and Ki, Mi ... for bytes.
constexpr std::array kScaledUnits = {KnownUnitWord{"B", "byte", 1},
                                     KnownUnitWord{"byte", "byte", 1},
                                     KnownUnitWord{"bytes", "byte", 1},
                                     KnownUnitWord{"Byte", "byte", 1},
                                     KnownUnitWord{"Bytes", "byte", 1},
                                     KnownUnitWord{"bit", "byte", 0.125},
                                     KnownUnitWord{"bits", "byte", 0.125},
                                     KnownUnitWord{"FLOP", "flop", 1},
                                     KnownUnitWord{"flop", "flop", 1},
                                     KnownUnitWord{"Flop", "flop", 1},
                                     KnownUnitWord{"Hz", "Hz", 1},
                                     KnownUnitWord{"W", "W", 1},
                                     KnownUnitWord{"J", "J", 1},
                                     KnownUnitWord{"Wh", "J", kSecondsOfHour},
                                     KnownUnitWord{"token", "token", 1},
                                     KnownUnitWord{"tokens", "token", 1},
                                     KnownUnitWord{"tok", "token", 1},
                                     KnownUnitWord{"sample", "sample", 1},
                                     KnownUnitWord{"samples", "sample", 1},
                                     KnownUnitWord{"image", "image", 1},
                                     KnownUnitWord{"images", "image", 1},
                                     KnownUnitWord{"atom-step", "atom-step", 1},
                                     KnownUnitWord{"atom-steps", "atom-step", 1},
                                     KnownUnitWord{"op", "op", 1},
                                     KnownUnitWord{"ops", "op", 1}};

struct UnitPrefix {
  std::string_view text;
  double factor;
};
constexpr std::array kUnitPrefixes = {UnitPrefix{"Ki", 0x1p10}, UnitPrefix{"Mi", 0x1p20}, UnitPrefix{"Gi", 0x1p30},
                                      UnitPrefix{"Ti", 0x1p40}, UnitPrefix{"Pi", 0x1p50}, UnitPrefix{"k", 1e3},
                                      UnitPrefix{"K", 1e3},     UnitPrefix{"M", 1e6},     UnitPrefix{"G", 1e9},
                                      UnitPrefix{"T", 1e12},    UnitPrefix{"P", 1e15},    UnitPrefix{"", 1}};

/// The words that a text may mean; `spelling` is the written form.
struct FoundUnitWord {
  UnitWord word;
  std::string spelling;
};

using UnitWords = std::map<std::string, std::vector<FoundUnitWord>>;  // by their lower-case form

/// Returns all words, including the prefixed ones. A prefix that ends with `i` belongs to bytes.
UnitWords make_unit_words() {
  UnitWords words;
  for (const KnownUnitWord& known : kUnitWords)
    words[lower_case(known.word)].push_back({{known.base, known.factor, true}, known.word});
  for (const UnitPrefix& prefix : kUnitPrefixes) {
    for (const KnownUnitWord& known : kScaledUnits) {
      if (prefix.text.ends_with('i') && std::string_view(known.base) != "byte") continue;
      const std::string spelling = std::string(prefix.text) + known.word;
      words[lower_case(spelling)].push_back({{known.base, prefix.factor * known.factor, true}, spelling});
    }
  }
  return words;
}

const std::vector<FoundUnitWord>& words_of_any_case(std::string_view text) {
  static const UnitWords kWords = make_unit_words();
  static const std::vector<FoundUnitWord> kNone;
  const auto found = kWords.find(lower_case(text));
  return found == kWords.end() ? kNone : found->second;
}

/// Returns whether the case of the letters changes the meaning: `Mb` is a megabit to many, and `mW` is a thousandth of `W`.
bool is_ambiguous_case(std::string_view text, const UnitWord& meant) {
  if (meant.base == "byte") return text.ends_with('b');
  const bool takes_thousandths = meant.base == "J" || meant.base == "W" || meant.base == "Hz";
  return takes_thousandths && meant.factor >= 1e3 && (text.front() == 'm' || text.front() == 'p');
}

/// Returns the known word for another spelling of its letters' case, if only one is meant: `Sec`, `GFLOP`, `TOKENS`; not `mb`.
std::optional<UnitWord> word_of_other_case(std::string_view text) {
  const std::vector<FoundUnitWord>& found = words_of_any_case(text);
  if (found.empty() || is_ambiguous_case(text, found.front().word)) return std::nullopt;
  const UnitWord& first = found.front().word;
  const bool is_one = std::all_of(found.begin(), found.end(), [&](const FoundUnitWord& each) {
    return each.word.base == first.base && each.word.factor == first.factor;
  });
  return is_one ? std::optional(first) : std::nullopt;
}

/// Returns a unit of its own for an unknown word: `Cells` and `cell` are the same unit.
UnitWord unit_word_of(std::string_view text) {
  for (const FoundUnitWord& found : words_of_any_case(text)) {
    if (found.spelling == text) return found.word;
  }
  if (const auto other = word_of_other_case(text)) return *other;
  std::string own = lower_case(text);
  if (own.size() > 2 && own.ends_with('s')) own.pop_back();
  return {own};
}

bool is_counted(std::string_view base) { return base == "gpu" || base == "rank" || base == "node" || base == "core"; }

/// A parsed unit: `GB/s` is 1e9 of byte / s.
struct ParsedUnit {
  std::string above;
  std::vector<std::string> below;  // sorted
  double factor = 1;
  bool is_known = true;
};

/// A quotient of two times, ns/day or days/ns, has a simulated and an elapsed one: neither is a multiple of the other.
void tell_times_apart(std::vector<UnitWord>& words) {
  const auto is_time = [](const UnitWord& word) { return word.base == "s"; };
  if (!is_time(words.front()) || std::none_of(words.begin() + 1, words.end(), is_time)) return;
  for (UnitWord& word : words) {
    if (is_time(word)) word.base = word.factor < 1 ? "simulated s" : "passed s";
  }
}

ParsedUnit parse_unit(const std::string& unit) {
  std::string text = unit;
  for (const auto& [written, meant] : {std::pair("FLOPS", "FLOP/s"), std::pair("Flops", "FLOP/s"), std::pair("flops", "FLOP/s"),
                                       std::pair("Bps", "B/s"), std::pair("bps", "bit/s")}) {
    const std::size_t at = text.find(written);
    const std::size_t end = at == std::string::npos ? at : at + std::string_view(written).size();
    if (at != std::string::npos && !text.substr(end).starts_with("/s")) text.replace(at, end - at, meant);
  }
  std::vector<UnitWord> words;
  for (const std::string& part : split(text, '/')) words.push_back(unit_word_of(trim(part)));
  tell_times_apart(words);
  ParsedUnit parsed{words.front().base, {}, words.front().factor, words.front().is_known};
  for (std::size_t i = 1; i < words.size(); ++i) {
    parsed.below.push_back(words[i].base);
    parsed.factor /= words[i].factor;
    parsed.is_known = parsed.is_known && words[i].is_known;
  }
  std::sort(parsed.below.begin(), parsed.below.end());
  return parsed;
}

}  // namespace

std::optional<double> unit_factor(const std::string& from, const std::string& to) {
  if (from == to) return 1;
  if (from.empty() || to.empty()) return std::nullopt;
  const ParsedUnit a = parse_unit(from);
  const ParsedUnit b = parse_unit(to);
  if (a.above != b.above || a.below != b.below) return std::nullopt;
  return a.factor / b.factor;
}

bool is_known_unit(const std::string& unit) {
  const ParsedUnit parsed = parse_unit(unit);
  return parsed.is_known && !(parsed.below.empty() && is_counted(parsed.above));
}

WordOfUnit word_of_unit(std::string_view text) {
  const UnitWord word = unit_word_of(trim(text));
  if (!word.is_known) return {};
  WordOfUnit result;
  result.is_time = word.base == "s" || word.base == "month" || word.base == "year";
  result.is_wall_time = word.base == "s" && word.factor >= 1 && word.factor <= kSecondsOfDay;
  if (is_counted(word.base)) result.counted = word.base + 's';
  return result;
}

bool is_unit_of_time(std::string_view unit) { return word_of_unit(trim(unit.substr(0, unit.find('/')))).is_time; }

std::string other_spelling_of_unit(const std::string& unit) {
  std::vector<std::string> parts = split(unit, '/');
  std::vector<std::string> spellings = {""};
  bool differs = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string part(trim(parts[i]));
    std::vector<std::string> meant = {part};
    if (!unit_word_of(part).is_known) {
      std::vector<std::string> others;
      for (const FoundUnitWord& found : words_of_any_case(part)) {
        if (part.ends_with('b') && others.empty())
          others = {found.spelling, found.spelling.substr(0, found.spelling.size() - 1) + "bit"};
      }
      if (!others.empty()) meant = others;
      differs = differs || !others.empty();
    }
    std::vector<std::string> longer;
    for (const std::string& begin : spellings) {
      for (const std::string& word : meant) longer.push_back(begin + (i == 0 ? "" : "/") + word);
    }
    spellings = std::move(longer);
  }
  return differs ? "`" + join(spellings, "` or `") + "`" : "";
}

bool is_known_quotient(const std::string& unit) {
  const ParsedUnit parsed = parse_unit(unit);
  return parsed.is_known && !parsed.below.empty() && !is_counted(parsed.above);
}

}  // namespace hpcbench
