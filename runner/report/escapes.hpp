#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

// Escapes texts of users (names, values, reasons) for the languages of reports: they stay text, whatever they contain.

/// Returns control characters, which would break lines or control a terminal, as \n, \t, \x1b.
std::string visible_text(std::string_view text);

/// Replaces bytes that are not UTF-8 by U+FFFD.
std::string valid_utf8(std::string_view text);

/// Escapes for HTML's text and quoted attributes.
std::string escape_html(std::string_view text);

/// Escapes for a cell or paragraph of GitHub's Markdown: newlines become `<br>`, markup is escaped, as are the `$` of a formula
/// and the `]` of a link. An underscore between letters is no markup.
std::string escape_markdown(std::string_view text);

/// Escapes for LaTeX's text mode: nothing in the result is a command, a comment, an option of a preceding `\\`, or a ligature
/// that replaces characters.
std::string escape_latex(std::string_view text);

/// Escapes for a workflow command of GitHub Actions: its message, or a property like `title`.
std::string escape_workflow(std::string_view text, bool is_property);

/// Returns a line of CSV (RFC 4180): a cell is quoted if it contains a separator, a quote or a line end.
std::string csv_line(const std::vector<std::string>& cells);

/// Returns a string of gnuplot in single quotes, in which gnuplot recognises no escapes, substitutions or commands; control
/// characters become blanks. Texts longer than `limit` characters lose their middle.
std::string gnuplot_string(std::string_view text, std::size_t limit = 200);

/// Returns at most `limit` characters (not bytes): the middle is left out.
std::string elide(std::string_view text, std::size_t limit);

}  // namespace hpcbench
