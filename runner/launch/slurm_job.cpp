#include "launch/slurm_job.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "base/error.hpp"
#include "base/host.hpp"
#include "base/host_list.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "base/tool_runner.hpp"
#include "launch/first_host.hpp"

namespace hpcbench {

namespace {

constexpr double kToolTimeoutS = 20;
constexpr double kEndReserveS = 15;  // from the end of a run at its time limit to that of its job

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
  const std::string array = variable_or("SLURM_ARRAY_JOB_ID", "");
  job.name = array.empty() ? variable_or("SLURM_JOB_ID", "") : array + "_" + variable_or("SLURM_ARRAY_TASK_ID", "");
  job.node = variable_or("SLURMD_NODENAME", host_name());
  job.nodes = variable_or("SLURM_JOB_NODELIST", job.node);
  return job;
}

std::size_t array_element(const std::string& command) {
  const std::optional<int> index = whole_number(variable_or("SLURM_ARRAY_TASK_ID", ""));
  if (!index) throw UnavailableError("error: " + command + ": this is no element of a job array (SLURM_ARRAY_TASK_ID)");
  return static_cast<std::size_t>(*index);
}

std::optional<double> job_end_unix_s(const SlurmJobFacts& job) {
  constexpr std::string_view kKey = "EndTime=";
  const std::string text = output_of({"scontrol", "-o", "show", "job", job.name}).value_or("");
  for (const std::string& word : split(text, ' ')) {
    if (!word.starts_with(kKey)) continue;
    std::tm local{};
    if (::strptime(word.c_str() + kKey.size(), "%Y-%m-%dT%H:%M:%S", &local) == nullptr) break;
    local.tm_isdst = -1;
    return static_cast<double>(std::mktime(&local));
  }
  // What the job began with: somebody may have moved its end since.
  const double end_s = std::strtod(variable_or("SLURM_JOB_END_TIME", "").c_str(), nullptr);
  return end_s > 0 ? std::optional(end_s) : std::nullopt;
}

std::optional<double> time_left_s(const SlurmJobFacts& job) {
  const std::optional<double> end_s = job_end_unix_s(job);
  return end_s ? std::optional(*end_s - unix_time_s() - kEndReserveS) : std::nullopt;
}

bool is_ending(const SlurmJobFacts& job) {
  const std::string state(trim(output_of({"squeue", "-h", "-t", "all", "-j", job.name, "-o", "%T"}).value_or("")));
  return !state.empty() && state != "RUNNING" && state != "SUSPENDED";
}

bool is_giving_way(const SlurmJobFacts& job) {
  constexpr std::string_view kKey = " PreemptTime=";
  const std::string text = output_of({"scontrol", "-o", "show", "job", job.name}).value_or("");
  const std::size_t at = text.find(kKey);
  return at != std::string::npos && text.compare(at + kKey.size(), 4, "None") != 0;
}

std::string process_tracker() {
  constexpr std::string_view kKey = "ProctrackType";
  const std::string text = output_of({"scontrol", "show", "config"}).value_or("");
  for (const std::string& line : split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (line.starts_with(kKey) && equals != std::string::npos) return std::string(trim(line.substr(equals + 1)));
  }
  return "";
}

std::string nodes_of_run(const std::string& list, const std::vector<std::string>& chosen) {
  std::vector<std::string> names = expand_host_list(list);
  std::erase_if(names, [&](const std::string& name) { return std::find(chosen.begin(), chosen.end(), name) == chosen.end(); });
  return join(names, ",");
}

std::string meeting_address(const SlurmJobFacts& job, int nodes) {
  if (nodes <= 1) return "127.0.0.1";
  const std::string node = first_host(job.nodes).value_or(job.node);
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

bool lists_step(const std::string& listed, const SlurmJobFacts& job, const std::string& step) {
  const std::string of_array = job.name + step.substr(step.find('.'));
  const std::vector<std::string> known = split(listed, '\n');
  return std::any_of(known.begin(), known.end(), [&](const std::string& each) { return each == step || each == of_array; });
}

void await_step_end(const SlurmJobFacts& job, const std::string& step, double patience_s) {
  constexpr long kPauseNs = 300'000'000;
  const double end_s = monotonic_s() + patience_s;
  while (monotonic_s() < end_s) {
    const auto steps = output_of({"squeue", "-h", "-s", "-j", step.substr(0, step.find('.')), "-o", "%i"});
    if (steps && !lists_step(*steps, job, step)) return;
    const timespec pause{0, kPauseNs};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace hpcbench
