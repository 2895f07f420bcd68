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
  bool has_threshold;
};
constexpr std::array kRuleWords = {
    RuleWord{"slower", FailRule::Kind::slower, true},
    RuleWord{"faster", FailRule::Kind::faster, true},
    RuleWord{"higher", FailRule::Kind::higher, true},
    RuleWord{"lower", FailRule::Kind::lower, true},
    RuleWord{"not equivalent", FailRule::Kind::not_equivalent, false},
    RuleWord{"not resolved", FailRule::Kind::not_resolved, false},
    RuleWord{"missing", FailRule::Kind::missing, false},
};

/// Words with one blank between them.
std::string in_single_blanks(const std::string& text) {
  std::vector<std::string> words;
  for (const std::string& word : split(text, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  return join(words, " ");
}

}  // namespace

double parse_share(const std::string& text, const std::string& option) {
  std::string number(trim(text));
  const bool percent = number.ends_with('%');
  if (percent) number = std::string(trim(number.substr(0, number.size() - 1)));
  const auto value = Value::from_plain(number).number();
  const double share = value.value_or(-1) / (percent ? 100 : 1);
  if (!value || !(share > 0) || share > 1) {
    throw InputError(fmt::format("error: {} `{}`: not a share above 0 and up to 100 %; write `5%` or `0.05`", option, text));
  }
  return share;
}

FailRule parse_fail_rule(const std::string& text) {
  const std::size_t sign = text.find('>');
  const std::string word = in_single_blanks(text.substr(0, sign));
  std::vector<std::string> words;
  for (const RuleWord& known : kRuleWords) {
    words.emplace_back(known.word);
    if (word != known.word) continue;
    FailRule rule{known.kind, 0, in_single_blanks(text)};
    if (sign == std::string::npos) return rule;
    if (!known.has_threshold)
      throw InputError(fmt::format("error: --fail-if `{}`: `{}` is true or not, and has no threshold", text, word));
    rule.threshold = parse_share(text.substr(sign + 1), "--fail-if");
    return rule;
  }
  throw InputError(fmt::format("error: --fail-if `{}`: no such rule{}; there are: {}; the first four may be followed by `> 5%`",
                               text, did_you_mean(word, words), join(words, ", ")));
}

}  // namespace hpcbench
