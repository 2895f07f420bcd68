#pragma once

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
std::vector<TextPiece> split_placeholders(std::string_view text);

/// Replaces `{{name}}` in `text`. A value is never itself read as a template. InputError names an undefined placeholder.
/// `{{{name}}}` is the same as `{{name}}` (arguments are not a shell's text).
std::string fill_placeholders(const std::string& text, const Bindings& bindings);

/// The names that `text` uses, each once, in order.
std::vector<std::string> placeholders_in(const std::string& text);

/// The value bound to `name`; InputError, with a suggestion, if there is none.
const Value& placeholder_value(const std::string& name, const Bindings& bindings);

}  // namespace hpcbench
