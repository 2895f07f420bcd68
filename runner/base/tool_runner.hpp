#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/process.hpp"

namespace hpcbench {

/// The seam to tools; tests put a Slurm of their own behind it (tests/fakes/fake_tool_runner.hpp).
class ToolRunner {
 public:
  virtual ~ToolRunner() = default;
  /// Runs it to its end, or to its time limit, and logs the call and its answer. Never throws for what the tool
  /// does.
  ToolResult run(const ToolCall& call);

 private:
  virtual ToolResult perform(const ToolCall& call) = 0;
  void log_answer(const ToolCall& call, const ToolResult& result, double duration_s);

  std::map<std::string, std::string> last_answers_;  // by command line, as logged: an answer that comes again is not repeated
};

/// Runs real programs, found in PATH, in an environment that changes no answer (is_kept_for_tools).
class ProcessToolRunner : public ToolRunner {
  ToolResult perform(const ToolCall& call) override;
};

/// Whether a tool sees this variable of our environment: SBATCH_*, SQUEUE_*, SACCT_*, SCANCEL_* and SLURM_* change what the
/// tools do (SQUEUE_PARTITION alone makes an answer that looks complete and is not). SLURM_CONF and SLURM_CLUSTERS say which
/// Slurm, and SLURM_JWT who we are to it.
bool is_kept_for_tools(std::string_view variable);

}  // namespace hpcbench
