#pragma once

#include <string>
#include <vector>

namespace hpcbench {

/// One message for each file of an import: problems `runs.csv:3: error: TEXT` of one file become the first of them, with a
/// line for each of the next few lines and the number of all. Others stay as they are.
std::vector<std::string> one_for_each_file(const std::vector<std::string>& problems);

/// One note for notes `FILE: TEXT` with the same text: `FILE and 7 more: TEXT`, in the place of the first.
std::vector<std::string> one_for_alike(const std::vector<std::string>& notes);

}  // namespace hpcbench
