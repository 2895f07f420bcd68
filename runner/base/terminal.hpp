#pragma once

#include <string>

namespace hpcbench {

/// Returns whether a person watches this stream: a terminal that is not `dumb`.
bool stderr_is_terminal();
bool stdout_is_terminal();

/// The size of the terminal on standard output; 0 x 0 if it is no terminal or does not report its size.
struct TerminalSize {
  int columns = 0;
  int rows = 0;
};
TerminalSize stdout_size();

/// Asks the user to confirm; with `yes` it does not ask. InputError without a terminal.
bool confirm(const std::string& question, bool yes);

/// Prints data to standard output, completely.
void print_data(const std::string& text);
/// Prints messages to standard error, a line each, and records them in the log.
void say(const std::string& line);

/// Prefixes messages with `NAME: ` from now on, unless they begin so; empty: no prefix. For one of several studies.
void speak_for(const std::string& name);

/// From now on standard error gets only warnings and errors (-q).
void be_quiet();
bool is_quiet();

}  // namespace hpcbench
