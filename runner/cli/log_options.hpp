#pragma once

#include <string>
#include <vector>

namespace hpcbench {

/// What --log-level takes.
std::vector<std::string> log_level_names();
/// The options of the log as every command takes them, by their long names.
std::vector<std::string> log_option_words();

/// Takes the options of the log out of the command line, wherever they stand before `--`, and does what they say: -v
/// (--verbose), -q (--quiet) and --log-level LEVEL. Returns how many arguments are left. InputError for an unknown level.
int take_log_options(int argc, char** argv);

}  // namespace hpcbench
