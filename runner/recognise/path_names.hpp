#pragma once

#include <string>
#include <vector>

#include "recognise/tool_results.hpp"

namespace hpcbench {

/// Paths of runs whose names hold values: `run_bs16_seed1/log.txt` by `run_bs{bs}_seed{repeat}/log.txt`.
struct PathNames {
  std::string pattern;
  std::vector<std::string> paths;     // those that it matches, one for each run
  std::vector<ToolColumn> columns;    // parameters without a source, as the pattern gives them
  std::vector<std::string> left_out;  // paths of another form, for people
};

/// Takes the names apart at `_`, `,`, `-`, `/` and points before letters. Parts that differ are values; they are called by the
/// letters before their digits, by what stands before `=`, or by the part before a plain number. Of several forms the one of
/// most paths counts. A single path, or paths that do not differ, have no columns.
PathNames find_path_names(const std::vector<std::string>& paths);

/// Paths of folders of equal depth as a glob with {run} for the last part and `*` for others that differ; those of another
/// depth than most are left out.
PathNames find_run_folders(const std::vector<std::string>& folders);

}  // namespace hpcbench
