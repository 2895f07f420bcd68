#include "plan/placeholders.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "spec/placeholders.hpp"

namespace hpcbench {

std::vector<TextPiece> split_placeholders(std::string_view text, const Bindings& bindings) {
  std::vector<TextPiece> pieces;
  std::size_t done = 0;
  for (Placeholder& placeholder : find_placeholders(text)) {
    if (placeholder.spread && find_binding(bindings, placeholder.name) == nullptr) continue;
    std::size_t begin = placeholder.offset;
    std::size_t end = text.find("}}", begin) + 2;
    const bool three_braces = begin > done && text[begin - 1] == '{' && end < text.size() && text[end] == '}';
    // `{{{x}}}` is the placeholder alone; `{{{x}}` has a brace of its own before it.
    if (three_braces) {
      --begin;
      ++end;
    }
    if (begin > done) pieces.push_back({std::string(text.substr(done, begin - done)), false});
    pieces.push_back({std::move(placeholder.name), true});
    done = end;
  }
  if (done < text.size()) pieces.push_back({std::string(text.substr(done)), false});
  return pieces;
}

const Value& placeholder_value(const std::string& name, const Bindings& bindings) {
  if (const Value* value = find_binding(bindings, name)) return *value;
  std::vector<std::string> names;
  for (const auto& binding : bindings) names.push_back(binding.first);
  throw InputError(fmt::format("error: nothing defines `{{{{{}}}}}`{}", name, did_you_mean(name, names)));
}

std::string fill_placeholders(const std::string& text, const Bindings& bindings) {
  std::string out;
  for (const TextPiece& piece : split_placeholders(text, bindings)) {
    out += piece.is_name ? placeholder_value(piece.text, bindings).text() : piece.text;
  }
  return out;
}

std::optional<std::vector<std::string>> spread_argument(const std::string& argument, const Bindings& bindings) {
  if (!is_one_placeholder(argument)) return std::nullopt;
  const Placeholder placeholder = find_placeholders(argument).front();
  const Value* value = find_binding(bindings, placeholder.name);
  return placeholder.spread && value != nullptr && value->list() != nullptr ? std::optional(*value->list()) : std::nullopt;
}

std::vector<std::string> fill_arguments(const std::vector<std::string>& arguments, const Bindings& bindings) {
  std::vector<std::string> filled;
  for (const std::string& argument : arguments) {
    if (const auto list = spread_argument(argument, bindings)) {
      filled.insert(filled.end(), list->begin(), list->end());
    } else {
      filled.push_back(fill_placeholders(argument, bindings));
    }
  }
  return filled;
}

std::string shell_words_of(const Value& value) { return value.list() != nullptr ? value.text() : shell_quote(value.text()); }

std::string fill_shell_text(const std::string& text, const Bindings& bindings) {
  std::string out;
  for (const TextPiece& piece : split_placeholders(text, bindings)) {
    out += piece.is_name ? shell_words_of(placeholder_value(piece.text, bindings)) : piece.text;
  }
  return out;
}

std::vector<std::string> placeholders_in(const std::string& text) {
  std::vector<std::string> names;
  for (Placeholder& placeholder : find_placeholders(text)) {
    if (std::find(names.begin(), names.end(), placeholder.name) == names.end()) names.push_back(std::move(placeholder.name));
  }
  return names;
}

}  // namespace hpcbench
