#pragma once

#include <string>
#include <vector>

#include "commandline/command.hpp"

namespace hpcbench {

/// `hpcbench complete-words`, which the scripts of `hpcbench completion` call at each TAB: prints what may stand at the end of
/// a command line, one a line, with what it is behind a tab. `-- WORD...`: the words, the program's name left out, the last one
/// that which is completed, maybe empty. `--line TEXT BREAKS`: the line up to the cursor and the characters at which bash
/// splits words; what is printed replaces the last piece. Returns the exit code.
int complete_words(commandline::Command& program, const std::vector<std::string>& arguments);

}  // namespace hpcbench
