#pragma once

#include <string>

namespace hpcbench {

/// Whether a person watches this stream: a terminal that is not `dumb`.
bool stderr_is_terminal();
bool stdout_is_terminal();

/// The size of the terminal that standard output is; 0 x 0 where it is none, or does not say.
struct TerminalSize {
  int columns = 0;
  int rows = 0;
};
TerminalSize stdout_size();

/// Asks on the terminal; with `yes` it asks nothing. InputError without a terminal.
bool confirm(const std::string& question, bool yes);

/// Data goes to standard output, whole.
void print_data(const std::string& text);
/// Messages go to standard error, a line each, and into the log.
void say(const std::string& line);

/// Messages begin with `NAME: ` from now on, where they do not anyway; empty: as they are. For one of several studies.
void speak_for(const std::string& name);

/// From here on standard error gets warnings and errors alone (-q).
void be_quiet();
bool is_quiet();

}  // namespace hpcbench
