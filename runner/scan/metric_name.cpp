#include "scan/metric_name.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <utility>
#include <vector>

#include "base/metric.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kMostWords = 6;
constexpr std::size_t kLongestName = 60;
constexpr std::array kFillWords = {"of", "in",  "is", "was",  "the",  "a",  "an",  "at",
                                   "on", "for", "to", "with", "took", "by", "and", "from"};

/// Spellings that units are given, where they mean the same.
constexpr std::array kPlainUnits = {"s",  "ms",       "us",        "ns",      "min",  "h",    "bytes",   "kB",    "MB",
                                    "GB", "tokens/s", "samples/s", "steps/s", "MB/s", "GB/s", "GFLOP/s", "MiB/s", "TFLOP/s"};

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

template <std::size_t kCount>
bool is_any(const std::array<const char*, kCount>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// `CurrSamplesPerSec` as curr, samples, per, sec.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = is_upper(text[i]) && i > 0 && is_lower(text[i - 1]);
    if ((begins || !is_alnum(text[i])) && !words.back().empty()) words.emplace_back();
    // `LOOP+`
    const bool is_plus = text[i] == '+' && i > 0 && is_alnum(text[i - 1]);
    if (is_plus) words.back() = "plus";
    if (is_alnum(text[i])) words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

std::string name_of(std::string_view text) {
  std::vector<std::string> words = words_of(text);
  words.erase(std::remove_if(words.begin(), words.end(), [](const std::string& word) { return is_any(kFillWords, word); }),
              words.end());
  if (words.size() > kMostWords) words.erase(words.begin(), words.end() - kMostWords);
  return join(words, "_").substr(0, kLongestName);
}

/// What stands in the last brackets of a label, if it is a unit; the brackets are then cut from the label.
std::string cut_unit(std::string& label) {
  for (const auto& [open, close] : {std::pair('(', ')'), std::pair('[', ']')}) {
    const std::size_t begin = label.rfind(open);
    const std::size_t end = begin == std::string::npos ? begin : label.find(close, begin);
    if (end == std::string::npos) continue;
    const std::string inside(trim(std::string_view(label).substr(begin + 1, end - begin - 1)));
    if (!is_unit_text(inside)) continue;
    label.erase(begin, end - begin + 1);
    return inside;
  }
  return "";
}

/// Returns a rate among the words of a label, `MB/s` of `Best Rate MB/s`, and cuts it from the label; empty if it has none.
std::string cut_rate(std::string& label) {
  for (std::size_t end = label.size(), begin = 0; end > 0; end = begin == 0 ? 0 : begin - 1) {
    const std::size_t blank = label.rfind(' ', end - 1);
    begin = blank == std::string::npos ? 0 : blank + 1;
    const std::string word = label.substr(begin, end - begin);
    const std::size_t slash = word.rfind('/');
    if (slash == std::string::npos || !is_unit_of_time(word.substr(slash + 1)) || !is_unit_text(word)) continue;
    label.erase(begin, end - begin);
    return word;
  }
  return "";
}

/// The unit that a word means by itself.
std::string unit_of_word(std::string_view name) {
  constexpr std::array kRates = {
      std::pair("tps", "tokens/s"),   std::pair("tok_s", "tokens/s"),      std::pair("tflops", "TFLOP/s"),
      std::pair("gflops", "GFLOP/s"), std::pair("mflops", "MFLOP/s"),      std::pair("mbytes_sec", "MB/s"),
      std::pair("pflops", "PFLOP/s"), std::pair("tokens_sec", "tokens/s"), std::pair("samples_sec", "samples/s")};
  for (const auto& [word, unit] : kRates) {
    if (name == word || name.ends_with(std::string("_") + word)) return unit;
  }
  return "";
}

}  // namespace

/// Of a word that is no `%`.
static bool is_known_or_quotient(std::string_view word) {
  const std::string unit(word);
  if (is_known_unit(unit)) return true;
  const std::size_t slash = word.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == word.size()) return false;
  return is_known_unit(unit.substr(0, slash)) || is_known_unit(unit.substr(slash + 1));
}

bool is_unit_text(std::string_view word) {
  constexpr std::size_t kLongest = 24, kMostKnown = 4096;
  if (word.empty() || word.size() > kLongest || word.find(' ') != std::string_view::npos) return false;
  if (word == "%") return true;
  // A log has few words behind its numbers, a million times.
  static thread_local std::map<std::string, bool, std::less<>> known_words;
  const auto known = known_words.find(word);
  if (known != known_words.end()) return known->second;
  if (known_words.size() >= kMostKnown) known_words.clear();
  return known_words.emplace(word, is_known_or_quotient(word)).first->second;
}

LabelParts parse_label(std::string_view label) {
  std::string text(label);
  LabelParts parts;
  if (const std::size_t pair = text.find("\": \""); pair != std::string::npos)  // `"key": "accuracy", "value"`
    text = text.substr(pair + 4, text.find('"', pair + 4) - pair - 4);
  parts.unit = cut_unit(text);
  if (parts.unit.empty()) parts.unit = cut_rate(text);
  for (std::size_t open = text.find('('); open != std::string::npos; open = text.find('(', open)) {
    const std::size_t close = text.find(')', open);
    if (close == std::string::npos) break;
    // `(wall clock)` is part of the name, `(h:mm:ss or m:ss)` and `(of 3)` are not.
    const bool is_words = text.substr(open, close - open).find_first_of(":0123456789/") == std::string::npos;
    is_words ? ++open : (text.erase(open, close - open + 1), open);
  }
  parts.name = name_of(text);
  const bool begins_with_digit = !parts.name.empty() && parts.name.front() >= '0' && parts.name.front() <= '9';
  if (begins_with_digit) parts.name.insert(0, parts.name.find("percentile") != std::string::npos ? "p" : "n");
  if (parts.unit.empty()) parts.unit = unit_of_word(parts.name);
  if (parts.name == "tps") parts.name = "tokens_per_s";
  if (parts.unit.empty()) parts.unit = unit_in_name(parts.name);
  return parts;
}

std::string plain_unit(const std::string& unit) {
  for (const char* const plain : kPlainUnits) {
    if (unit_factor(unit, plain) == 1.0) return plain;
  }
  return unit;
}

std::string metric_name(const std::string& name, const std::string& unit) {
  std::string suffix;
  for (const char c : unit == "%" ? std::string("percent") : unit) {
    if (c == '/') suffix += suffix.empty() ? "per_" : "_per_";
    if (is_alnum(c)) suffix += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (c == '-') suffix += '_';
  }
  std::string result = name.empty() ? suffix : name;
  const std::string of_name = unit_in_name(name);
  const bool has_percent = unit == "%" && name.find("percent") != std::string::npos;
  const bool has_unit = suffix.empty() || has_percent || name.empty() || name.ends_with('_' + suffix) || name == suffix ||
                        (!of_name.empty() && unit_factor(of_name, unit)) || !unit_of_word(name).empty();
  if (!has_unit) result += '_' + suffix;
  if (result.empty()) return "value";
  return result.front() >= '0' && result.front() <= '9' ? 'n' + result : result;
}

std::string index_name(std::string_view name) {
  constexpr std::array kSteps = {"step",        "steps",         "iter",  "iters",  "iteration",    "iterations", "it",
                                 "global_step", "current_steps", "batch", "update", "global_steps", "timestep"};
  constexpr std::array kSizes = {"size", "bytes", "message_size", "msg_size", "size_bytes", "n_bytes", "size_b", "elements"};
  if (is_any(kSteps, name)) return "step";
  if (name == "epoch" || name == "ep" || name == "epochs") return "epoch";
  return is_any(kSizes, name) ? "size" : "";
}

}  // namespace hpcbench
