#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// The words of a command line, by the rules of a shell for blanks, quotes and backslashes; nothing is expanded.
struct ShellWords {
  std::vector<std::string> words;
  char open_quote = 0;         // the quote that is not closed, if any
  bool ends_in_blank = true;   // outside of quotes: a new word begins at the end (so it does in an empty line)
  std::size_t last_piece = 0;  // bytes of the last word before its open quote, or before what follows a break
};

/// `breaks`: characters outside of quotes at which a piece of a word ends, as bash's COMP_WORDBREAKS has them; they stay in
/// the word.
ShellWords split_shell_words(const std::string& text, std::string_view breaks = "");

}  // namespace hpcbench
