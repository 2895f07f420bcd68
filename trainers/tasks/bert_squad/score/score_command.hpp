#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace hpcbench::train {

/// Runs `hpcbench-train score --data F --predictions P`; `arguments` are those after the word score. Prints one JSON object
/// with the official keys to `out`, warnings and errors to `err`. Returns the exit code: 0, 2 (the input is wrong) or 3 (a file
/// cannot be read).
int score_command(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

}  // namespace hpcbench::train
