#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.hpp"

namespace hpcbench {

/// A piece of a text with placeholders: the name in `{{name}}`, or what stands between placeholders.
struct TextPiece {
  std::string text;
  bool is_name = false;
};

/// Cuts a text at its placeholders (spec/placeholders.hpp says what is one). Of `{{{name}}}` all braces are the placeholder's.
/// `{{*name}}` is one where `bindings` has the name.
std::vector<TextPiece> split_placeholders(std::string_view text, const Bindings& bindings);

/// Replaces `{{name}}` in `text`. A value is never itself read as a template. InputError names an undefined placeholder.
/// `{{{name}}}` is the same as `{{name}}` (arguments are not a shell's text). `{{*name}}` stays as it is where nothing has the
/// name.
std::string fill_placeholders(const std::string& text, const Bindings& bindings);

/// The arguments of a command: one each, but `{{*name}}` becomes those of a list, or none at all.
std::vector<std::string> fill_arguments(const std::vector<std::string>& arguments, const Bindings& bindings);

/// Replaces placeholders in a text that a shell reads: each value becomes one word, a list in `{{*name}}` its words.
std::string fill_shell_text(const std::string& text, const Bindings& bindings);

/// The list that an argument is: `{{*name}}` and nothing else, of a value that is a list. Absent for any other argument.
std::optional<std::vector<std::string>> spread_argument(const std::string& argument, const Bindings& bindings);

/// A value as words of a shell, quoted: those of a list, one of all else.
std::string shell_words_of(const Value& value);

/// The names that `text` uses, each once, in order.
std::vector<std::string> placeholders_in(const std::string& text);

/// The value bound to `name`; InputError, with a suggestion, if there is none.
const Value& placeholder_value(const std::string& name, const Bindings& bindings);

}  // namespace hpcbench
