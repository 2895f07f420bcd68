#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace hpcbench::train {

/// `hpcbench-train score --data F --predictions P`; `arguments` are those after
/// the word score. Prints one JSON object with the official keys on `out`,
/// warnings and errors on `err`. Gives the exit code: 0, 2 (the input is wrong)
/// or 3 (a file cannot be read).
int score_command(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

}  // namespace hpcbench::train
