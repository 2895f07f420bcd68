#pragma once

#include <string>

namespace hpcbench {

/// Whether a person watches this stream: a terminal that is not `dumb`.
bool stderr_is_terminal();
bool stdout_is_terminal();

/// Asks on the terminal. With `yes` no question is put. InputError where nobody can be asked.
bool confirm(const std::string& question, bool yes);

/// Data goes to standard output, whole.
void print_data(const std::string& text);
/// Talk goes to standard error, a line each, and into the log.
void say(const std::string& line);

/// From here on standard error gets warnings and errors alone (-q).
void be_quiet();
bool is_quiet();

}  // namespace hpcbench
