#pragma once

#include <string>
#include <vector>

#include "recognise/tool_files.hpp"
#include "recognise/tool_results.hpp"

namespace hpcbench {

/// Adds the likeliest numbers of the logs of runs, as `hpcbench scan` proposes them for the longest log of each name.
/// `folders`: of the runs; a log belongs to the run whose folder holds it. `glob`: for `file` of the metrics; empty: the name
/// of the log.
void add_log_metrics(const ToolFiles& files, const std::vector<std::string>& folders, const std::vector<std::string>& logs,
                     ToolResults& results, const std::string& glob = {});

}  // namespace hpcbench
