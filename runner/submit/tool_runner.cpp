#include "submit/tool_runner.hpp"

#include <algorithm>
#include <array>

namespace hpcbench {

bool is_kept_for_tools(std::string_view variable) {
  constexpr std::array<std::string_view, 7> kForeign = {"SBATCH_",   "SQUEUE_", "SACCT_", "SCANCEL_",
                                                        "SCONTROL_", "SINFO_",  "SLURM_"};
  if (variable == "SLURM_CONF" || variable == "SLURM_CLUSTERS") return true;
  return std::none_of(kForeign.begin(), kForeign.end(), [&](std::string_view prefix) { return variable.starts_with(prefix); });
}

ToolResult ProcessToolRunner::run(const ToolCall& call) {
  ToolCall plain = call;
  // The messages that are told apart are English ones.
  plain.environment.emplace_back("LC_ALL", "C.UTF-8");
  plain.environment.emplace_back("SLURM_TIME_FORMAT", "standard");
  plain.keeps = is_kept_for_tools;
  return run_tool(plain);
}

}  // namespace hpcbench
