#include "launch/slurm_job.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "base/host.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "base/tool_runner.hpp"
#include "launch/first_host.hpp"

namespace hpcbench {

namespace {

constexpr double kToolTimeoutS = 20;

std::string variable_or(const char* name, const std::string& otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

/// What a tool printed on stdout; absent if it cannot be started, fails, or takes too long.
std::optional<std::string> output_of(std::vector<std::string> argv) {
  ProcessToolRunner tools;
  ToolResult result = tools.run({.argv = std::move(argv), .timeout_s = kToolTimeoutS});
  return result.succeeded() ? std::optional(std::move(result.output)) : std::nullopt;
}

/// `NodeAddr=10.0.0.1` of `scontrol -o show node`.
std::string node_address(const std::string& node) {
  constexpr std::string_view kKey = "NodeAddr=";
  const std::string text = output_of({"scontrol", "-o", "show", "node", node}).value_or("");
  for (const std::string& word : split(text, ' ')) {
    if (word.starts_with(kKey) && word.size() > kKey.size()) return word.substr(kKey.size());
  }
  return node;
}

}  // namespace

SlurmJobFacts slurm_job_facts() {
  SlurmJobFacts job;
  job.id = variable_or("SLURM_JOB_ID", "");
  const std::string array = variable_or("SLURM_ARRAY_JOB_ID", "");
  job.name = array.empty() ? job.id : array + "_" + variable_or("SLURM_ARRAY_TASK_ID", "");
  job.node = variable_or("SLURMD_NODENAME", host_name());
  job.nodes = variable_or("SLURM_JOB_NODELIST", job.node);
  return job;
}

std::string meeting_address(const SlurmJobFacts& job, int nodes) {
  if (nodes <= 1) return "127.0.0.1";
  const std::string names = output_of({"scontrol", "show", "hostnames", job.nodes}).value_or("");
  std::string node = names.substr(0, names.find('\n'));
  if (node.empty()) node = first_host(job.nodes).value_or(job.node);
  if (output_of({"getent", "hosts", node})) return node;
  return node_address(node);
}

std::optional<std::string> list_gpus() {
  if (!find_program("nvidia-smi")) return std::nullopt;
  return std::string(trim(output_of({"nvidia-smi", "-L"}).value_or("")));
}

void signal_step(const std::string& step, const std::string& signal) {
  output_of({"scancel", "--quiet", "--signal=" + signal, step});
}

void await_step_end(const std::string& step, double patience_s) {
  constexpr long kPauseNs = 300'000'000;
  const double end_s = monotonic_s() + patience_s;
  while (monotonic_s() < end_s) {
    const auto steps = output_of({"squeue", "-h", "-s", "-j", step.substr(0, step.find('.')), "-o", "%i"});
    if (steps) {
      const std::vector<std::string> known = split(*steps, '\n');
      if (std::find(known.begin(), known.end(), step) == known.end()) return;
    }
    const timespec pause{0, kPauseNs};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace hpcbench
