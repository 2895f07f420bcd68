#pragma once

namespace hpcbench {

/// Takes the options of the log out of the command line, wherever they stand before `--`, and does what they say: -v
/// (--verbose), -q (--quiet) and --log-level LEVEL. Returns how many arguments are left. InputError for a level that is none.
int take_log_options(int argc, char** argv);

}  // namespace hpcbench
