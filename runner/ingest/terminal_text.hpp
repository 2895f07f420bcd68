#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// A piece of a log as a terminal shows it: without escape sequences (colours), with a line end at each carriage return and
/// behind a progress bar that shares its line with other text. Text without any of these is not copied.
class TerminalText {
 public:
  explicit TerminalText(std::string_view piece);
  TerminalText(const TerminalText&) = delete;
  TerminalText& operator=(const TerminalText&) = delete;

  std::string_view text() const { return text_; }
  /// How many line ends of the piece itself stand before an offset of `text()`.
  long long lines_before(std::size_t offset) const;

 private:
  void clean(std::string_view piece);
  void end_line_at_bar(char next);

  std::string_view text_;
  std::string cleaned_;
  std::vector<std::size_t> made_;  // offsets of line ends that the piece does not have, ascending
  std::size_t line_begin_ = 0;     // in cleaned_
};

}  // namespace hpcbench
