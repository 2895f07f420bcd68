#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

// Texts of users (names, values, reasons) in the languages of reports: they stay text, whatever they contain.

/// Control characters would break lines or drive a terminal: shown as \n, \t, \x1b.
std::string visible_text(std::string_view text);

/// Bytes that are not UTF-8 become U+FFFD.
std::string valid_utf8(std::string_view text);

/// For HTML's text and quoted attributes.
std::string escape_html(std::string_view text);

/// For a cell or paragraph of GitHub's Markdown: newlines become `<br>`, markup is escaped, as are the `$` of a formula and the
/// `]` of a link. An underscore between letters is no markup.
std::string escape_markdown(std::string_view text);

/// For LaTeX's text mode: nothing in it is a command, a comment, an option of the `\\` before it, or a ligature that replaces
/// signs by others.
std::string escape_latex(std::string_view text);

/// For a workflow command of GitHub Actions: of its message, or of a property like `title`.
std::string escape_workflow(std::string_view text, bool is_property);

/// A line of CSV (RFC 4180): a cell is quoted where it has a separator, a quote or a line end.
std::string csv_line(const std::vector<std::string>& cells);

/// A string of gnuplot in single quotes, in which it knows no escapes, substitutions or commands; control characters become
/// blanks. Texts longer than `limit` characters lose their middle.
std::string gnuplot_string(std::string_view text, std::size_t limit = 200);

/// At most `limit` characters (not bytes): the middle is left out.
std::string elide(std::string_view text, std::size_t limit);

/// Characters of valid UTF-8.
std::size_t character_count(std::string_view text);

}  // namespace hpcbench
