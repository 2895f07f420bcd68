#include "cli/completion/shell_words.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace hpcbench {

ShellWords split_shell_words(const std::string& text, std::string_view breaks) {
  constexpr std::string_view kEscapedInQuotes = "\"$`\\";
  ShellWords split;
  std::optional<std::string> word;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool escapes =
        c == '\\' && i + 1 < text.size() &&
        (split.open_quote == 0 || (split.open_quote == '"' && kEscapedInQuotes.find(text[i + 1]) != std::string_view::npos));
    if (split.open_quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      if (word) split.words.push_back(*std::exchange(word, std::nullopt));
      split.last_piece = 0;
    } else if (c == split.open_quote || (split.open_quote == 0 && (c == '"' || c == '\''))) {
      word = word.value_or("");
      if (split.open_quote == 0) split.last_piece = word->size();
      split.open_quote = c == split.open_quote ? '\0' : c;
    } else {
      word = word.value_or("") + (escapes ? text[++i] : c);
      if (!escapes && split.open_quote == 0 && breaks.find(c) != std::string_view::npos) split.last_piece = word->size();
    }
  }
  split.ends_in_blank = !word;
  if (word) split.words.push_back(*word);
  return split;
}

}  // namespace hpcbench
