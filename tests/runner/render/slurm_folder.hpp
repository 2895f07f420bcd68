#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "base/text.hpp"
#include "runner/render/rendering.hpp"

namespace hpcbench {

/// srun's stand-in: one task after the other here, told apart as Slurm does.
inline constexpr const char* kFakeSrun = R"(#!/bin/bash
printf '%s\n' "$*" >>"$FAKE_CALLS"
for argument in "$@"; do case $argument in --ntasks=*) tasks=${argument#*=} ;; --ntasks-per-node=*) per_node=${argument#*=} ;; esac; done
while [[ $1 == --* ]]; do shift; done
code=0
for ((task = 0; task < tasks; task++)); do
  SLURM_PROCID=$task SLURM_LOCALID=$((task % per_node)) SLURM_NODEID=$((task / per_node)) "$@" || code=$?
done
[ "$code" -eq 0 ] || exit 143   # as --kill-on-bad-exit has it: not the code of the first that failed
)";
inline constexpr const char* kFakeScontrol = "#!/usr/bin/env bash\n[ \"$3\" = node ] && echo NodeName=n0 NodeAddr=localhost\n";
inline constexpr const char* kFakeNvidiaSmi = "#!/usr/bin/env bash\necho 'GPU 0: NVIDIA \"A100\" (UUID: GPU-1)'\n";

/// Attempts rendered for Slurm, and stand-ins for its tools.
class SlurmFolder : public RenderedFolder {
 public:
  SlurmFolder() {
    context.executor = "slurm";
    context.job_template = read_file(HPCBENCH_SOURCE_DIR "/templates/job.sh.mustache");
    context.array_template = read_file(HPCBENCH_SOURCE_DIR "/templates/slurm_array.sh.mustache");
    add_tool("srun", kFakeSrun);
    add_tool("scontrol", kFakeScontrol);
    add_tool("nvidia-smi", kFakeNvidiaSmi);
  }

  void add_tool(const std::string& name, const std::string& text) {
    make_folders(folder / "bin");
    write_file(folder / ("bin/" + name), text, Durability::none);
    std::filesystem::permissions(folder / ("bin/" + name), std::filesystem::perms::owner_all);
  }

  /// As an element of a job array on two nodes.
  int run_in_slurm(const std::string& script, int index = 0, const std::string& first = "") const {
    const std::string command = "export PATH=" + shell_quote(folder / "bin") +
                                ":$PATH FAKE_CALLS=" + shell_quote(folder / "calls") +
                                " SLURM_JOB_ID=9 SLURM_ARRAY_JOB_ID=8 SLURM_ARRAY_TASK_ID=" + std::to_string(index) +
                                " SLURMD_NODENAME=n0 SLURM_JOB_NODELIST='n[0-1]'; cd " + shell_quote(context.results) + "; " +
                                first + "exec bash " + shell_quote(script) + " 2>>" + shell_quote(folder / "job.err");
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  /// The batch of this one attempt; the path of its script.
  std::string write_batch(const Experiment& experiment, const RenderedAttempt& attempt) const {
    const std::string batch = "00112233445566aa";
    make_folders(context.results + "/batches/" + batch);
    write_file(context.results + "/batches/" + batch + "/attempts.txt", to_string(attempt.key) + "\n", Durability::none);
    const auto options = slurm_options(experiment, make_plan(experiment).configurations.front());
    const std::string path = context.results + "/" + batch_script_path(batch);
    write_file(path, render_array_script(experiment, options, batch, 1, context), Durability::none);
    return path;
  }
};

inline Experiment two_nodes(std::vector<std::string> command) {
  Experiment experiment = command_experiment(std::move(command), 2);
  experiment.matrix.push_back({"nodes", {Value::from_integer(2)}});
  return experiment;
}

}  // namespace hpcbench
