#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/process.hpp"

namespace hpcbench {

/// The seam to tools; tests replace Slurm's tools behind it (tests/fakes/fake_tool_runner.hpp).
class ToolRunner {
 public:
  virtual ~ToolRunner() = default;
  /// Runs the tool until it ends or reaches its time limit, and logs the call and its answer. A failure of the tool never
  /// throws.
  ToolResult run(const ToolCall& call);

 private:
  virtual ToolResult perform(const ToolCall& call) = 0;
  void log_answer(const ToolCall& call, const ToolResult& result, double duration_s);

  std::map<std::string, std::string> last_answers_;  // by command line, as logged: an unchanged answer is not logged again
};

/// Runs real programs, found in PATH, without the environment variables that change their answers (is_kept_for_tools).
class ProcessToolRunner : public ToolRunner {
  ToolResult perform(const ToolCall& call) override;
};

/// Returns whether a tool may see this variable of the environment: SBATCH_*, SQUEUE_*, SACCT_*, SCANCEL_* and SLURM_* change
/// what the tools do (SQUEUE_PARTITION alone makes an answer that looks complete and is not). SLURM_CONF and SLURM_CLUSTERS
/// select the Slurm installation, and SLURM_JWT authenticates the user.
bool is_kept_for_tools(std::string_view variable);

}  // namespace hpcbench
