#include "spec/tool_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/text.hpp"
#include "spec/fields.hpp"

namespace hpcbench {

namespace {

/// The first of our options that `name` may mean: such tools take prefixes, and which of them are clear depends on its version.
const OwnOption* own_long_option(const OptionRules& rules, std::string_view name) {
  const OwnOption* found = nullptr;
  for (const OwnOption& option : rules.own) {
    if (option.name == name) return &option;
    if (found == nullptr && option.name.starts_with(name)) found = &option;
  }
  return found;
}

const OwnOption* own_short_option(const OptionRules& rules, char letter) {
  const auto found =
      std::find_if(rules.own.begin(), rules.own.end(), [&](const OwnOption& option) { return option.letter == letter; });
  return found == rules.own.end() ? nullptr : &*found;
}

/// Of letters behind one dash: those without a value may stand before another one.
const OwnOption* own_option_of_letters(const OptionRules& rules, std::string_view letters) {
  for (const char letter : letters) {
    if (const OwnOption* own = own_short_option(rules, letter)) return own;
    if (rules.letters_without_value.find(letter) == std::string_view::npos) return nullptr;  // the rest is its value
  }
  return nullptr;
}

/// What stands before `=` or a blank.
std::string_view option_word(std::string_view option) { return option.substr(0, option.find_first_of("= \t\n")); }

const OwnOption* own_option(const OptionRules& rules, std::string_view option) {
  const std::string_view word = option_word(option);
  if (word.starts_with("--")) return word.size() > 2 ? own_long_option(rules, word.substr(2)) : nullptr;
  return own_option_of_letters(rules, word.substr(1));
}

bool is_option(std::string_view text) { return text.starts_with('-') && text.find_first_not_of('-') != std::string_view::npos; }

/// An option without a value of its own: the next entry may have been meant as one.
bool takes_value_after(std::string_view text) { return is_option(text) && option_word(text).size() == text.size(); }

std::string write_as_one(const std::string& option, const std::string& value) {
  return fmt::format("each entry is a whole option: write \"{}{}{}\"", option, option.starts_with("--") ? "=" : "", value);
}

void refuse_own_option(const SourceLocation& location, const std::string& option, const OwnOption& own, const std::string& what,
                       Diagnostics& diagnostics) {
  const std::string full = fmt::format("--{}", own.name);
  const bool same = option_word(option) == full;
  diagnostics.add(
      location,
      fmt::format("{}{} cannot stand in `{}`: {}", cite(option), same ? "" : ", which is `" + full + "`,", what, own.why),
      own.instead);
}

}  // namespace

void check_tool_options(const OptionRules& rules, const YamlNode& node, const std::vector<std::string>& options,
                        const std::string& what, Diagnostics& diagnostics) {
  bool refused = false;  // the option before this entry, whose value this entry may be
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string& option = options[i];
    const SourceLocation& location = node.items[i].location;
    if (!option.starts_with('-') && i > 0 && takes_value_after(options[i - 1])) {
      if (refused) continue;
      diagnostics.add(location, fmt::format("{} is no option of {}", cite(option), rules.tool),
                      write_as_one(options[i - 1], option));
    } else if (!is_option(option)) {
      diagnostics.add(location, fmt::format("{} is no option of {}", cite(option), rules.tool),
                      fmt::format("options start with -: \"{}\"", rules.example));
    } else if (const OwnOption* own = own_option(rules, option)) {
      refuse_own_option(location, option, *own, what, diagnostics);
      refused = true;
      continue;
    } else if (const std::size_t end = option_word(option).size(); end < option.size() && option[end] != '=') {
      diagnostics.add(location, fmt::format("{} holds a blank: {} would read it as one word", cite(option), rules.tool),
                      write_as_one(option.substr(0, end), std::string(trim(option.substr(end)))));
    }
    refused = false;
  }
}

}  // namespace hpcbench
