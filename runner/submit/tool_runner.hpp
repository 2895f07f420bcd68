#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "submit/slurm_parse.hpp"

namespace hpcbench {

/// A call of a tool of Slurm.
struct ToolCall {
  std::vector<std::string> argv;
  std::string folder;     // working directory; empty: ours
  double timeout_s = 60;  // then it is killed
};

/// The seam to Slurm's tools; tests have a Slurm of their own behind it (tests/fakes/fake_tool_runner.hpp).
class ToolRunner {
 public:
  virtual ~ToolRunner() = default;
  /// Runs it to its end, or until its time is over. Never throws for what the tool does.
  virtual ToolResult run(const ToolCall& call) = 0;
};

/// Runs real programs, found in PATH, in an environment that changes no answer (is_kept_for_tools).
class ProcessToolRunner : public ToolRunner {
 public:
  ToolResult run(const ToolCall& call) override;
};

/// Whether a tool sees this variable of our environment: SBATCH_*, SQUEUE_*, SACCT_*, SCANCEL_* and SLURM_* change what the
/// tools do (SQUEUE_PARTITION alone makes an answer that looks complete and is not). SLURM_CONF and SLURM_CLUSTERS say which
/// Slurm.
bool is_kept_for_tools(std::string_view variable);

}  // namespace hpcbench
