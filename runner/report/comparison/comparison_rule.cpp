#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "base/error.hpp"
#include "base/text.hpp"
#include "report/comparison/comparison.hpp"

namespace hpcbench {
namespace {

struct RuleWord {
  const char* word;
  FailRule::Kind kind;
};
constexpr std::array kRuleWords = {
    RuleWord{"slower", FailRule::Kind::slower},
    RuleWord{"faster", FailRule::Kind::faster},
    RuleWord{"higher", FailRule::Kind::higher},
    RuleWord{"lower", FailRule::Kind::lower},
    RuleWord{"not equivalent", FailRule::Kind::not_equivalent},
    RuleWord{"not resolved", FailRule::Kind::not_resolved},
    RuleWord{"missing", FailRule::Kind::missing},
    RuleWord{"failed", FailRule::Kind::failed},
};

/// Returns the words with one blank between them.
std::string in_single_blanks(const std::string& text) {
  std::vector<std::string> words;
  for (const std::string& word : split(text, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  return join(words, " ");
}

InputError unknown_rule(const std::string& text, const std::string& word) {
  std::vector<std::string> words;
  for (const RuleWord& known : kRuleWords) words.emplace_back(known.word);
  return InputError(fmt::format(
      "error: --fail-if `{}`: unknown rule{}; write one of {}, `slower > 5%`, `failed > 0`, `METRIC > 5%` or `METRIC < -5%`",
      text, did_you_mean(word, words), join(words, ", ")));
}

/// Returns the rule's original text, as the place of an error.
std::string in_rule(const FailRule& rule) { return fmt::format("--fail-if `{}`", rule.text); }

/// Reads a bound: `> 5%` for a change, `> 0` for a number of runs; `sign` is a blank if there is none.
FailRule with_bound(FailRule rule, char sign, const std::string& bound) {
  const bool is_count = rule.kind == FailRule::Kind::failed;
  if (sign == ' ') return rule;
  if (sign == '<') throw InputError(fmt::format("error: --fail-if `{}`: only `METRIC < -5%` has `<`; write `>`", rule.text));
  if (!is_count && rule.kind > FailRule::Kind::lower)
    throw InputError(fmt::format("error: --fail-if `{}`: this rule has no threshold; write it without `>`", rule.text));
  if (!is_count) {
    rule.threshold = parse_share(bound, in_rule(rule));
    return rule;
  }
  const auto count = Value::from_plain(std::string(trim(bound))).integer();
  if (!count || *count < 0)
    throw InputError(fmt::format("error: --fail-if `{}`: `failed` counts runs; write `failed > 0`", rule.text));
  rule.threshold = static_cast<double>(*count);
  return rule;
}

}  // namespace

double parse_share(const std::string& text, const std::string& option) {
  std::string number(trim(text));
  const bool percent = number.ends_with('%');
  if (percent) number = std::string(trim(number.substr(0, number.size() - 1)));
  const auto value = Value::from_plain(number).number();
  const double share = value.value_or(-1) / (percent ? 100 : 1);
  if (!value || !(share > 0) || share > 1) {
    const bool lacks_sign = value && !percent && share > 1 && share <= 100;
    throw InputError(fmt::format("error: {}: `{}` is not a share above 0 and up to 100 %; write `{}`", option, trim(text),
                                 lacks_sign ? number + "%" : "5%` or `0.05"));
  }
  return share;
}

FailRule parse_fail_rule(const std::string& text) {
  const std::size_t sign = text.find_first_of("<>");
  const bool has_sign = sign != std::string::npos;
  const std::string word = in_single_blanks(text.substr(0, sign));
  const std::string bound = has_sign ? text.substr(sign + 1) : "";
  FailRule rule{FailRule::Kind::higher, 0, "", in_single_blanks(text)};
  for (const RuleWord& known : kRuleWords) {
    if (word == known.word) return with_bound({known.kind, 0, "", rule.text}, has_sign ? text[sign] : ' ', bound);
  }
  if (!has_sign || word.empty() || word.find(' ') != std::string::npos) throw unknown_rule(text, word);
  rule.metric = word;
  if (text[sign] == '>') {
    rule.threshold = parse_share(bound, in_rule(rule));
  } else {
    const std::string_view number = trim(bound);
    if (!number.starts_with('-'))
      throw InputError(fmt::format("error: --fail-if `{}`: write `{} < -5%` for a decrease by more than 5 %", text, word));
    rule.kind = FailRule::Kind::lower;
    rule.threshold = parse_share(std::string(number.substr(1)), in_rule(rule));
  }
  return rule;
}

}  // namespace hpcbench
