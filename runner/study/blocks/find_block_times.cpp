#include "study/blocks/find_block_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/executor_kind.hpp"
#include "executors/slurm/slurm_limits.hpp"

namespace hpcbench {

namespace {

constexpr double kLimitPatienceS = 30;  // for each of Slurm's tools

/// Seconds; endless for a run that its limit ended. Absent where the attempt does not say what such a run needs.
std::optional<double> needed_by(const AttemptRecord& attempt) {
  if (executor_kind(attempt.executor).runs_here || !attempt.key.run.is_repeat()) return std::nullopt;
  if (attempt.state == State::timeout) return HUGE_VAL;
  if (attempt.state != State::succeeded || !attempt.started_unix_s || !attempt.finished_unix_s) return std::nullopt;
  return std::max(0.0, *attempt.finished_unix_s - *attempt.started_unix_s);
}

std::optional<LongestJob> longest_job_of_qos(const Experiment& experiment, ToolRunner& tools) {
  const std::optional<std::string>& qos = experiment.site.qos;
  if (!qos) return std::nullopt;
  const ToolResult answer =
      tools.run({{"sacctmgr", "-n", "-P", "show", "qos", "where", "name=" + *qos, "format=name,maxwall"}, "", kLimitPatienceS});
  const std::optional<double> seconds = parse_max_wall(answer.succeeded() ? answer.output : "", *qos);
  if (!seconds) return std::nullopt;
  return LongestJob{*seconds, fmt::format("MaxWall of QOS `{}`", *qos)};
}

}  // namespace

std::map<std::string, RunEstimate> estimate_runs(const Plan& plan, const std::vector<AttemptRecord>& attempts) {
  std::map<std::string, std::vector<double>> took_s;
  for (const AttemptRecord& attempt : attempts) {
    if (const std::optional<double> seconds = needed_by(attempt)) took_s[attempt.key.config_id].push_back(*seconds);
  }
  std::map<std::string, RunEstimate> estimates;
  for (const Configuration& configuration : plan.configurations) {
    const auto found = took_s.find(configuration.id);
    const std::optional<double>& limit_s = configuration.work->resources.time_s;
    if (found != took_s.end() && limit_s) estimates.emplace(configuration.id, estimate_run(found->second, *limit_s));
  }
  return estimates;
}

std::map<std::string, LongestJob> find_longest_jobs(const Experiment& experiment, const Plan& plan, ToolRunner& tools) {
  std::map<std::string, LongestJob> longest;
  const ToolResult partitions = tools.run({{"scontrol", "-o", "show", "partition"}, "", kLimitPatienceS});
  const std::vector<SlurmPartition> known = parse_partitions(partitions.succeeded() ? partitions.output : "");
  const std::optional<LongestJob> of_qos = longest_job_of_qos(experiment, tools);
  for (const Configuration& configuration : plan.configurations) {
    const std::string names = partition_of(experiment, configuration);
    std::optional<LongestJob> job = longest_job(known, names.empty() ? std::nullopt : std::optional(names));
    if (of_qos && (!job || of_qos->seconds < job->seconds)) job = of_qos;
    if (job) longest.emplace(names, *job);
  }
  return longest;
}

BlockTimes find_block_times(const Experiment& experiment, const Plan& plan, const Store& store, ToolRunner& tools) {
  BlockTimes times;
  if (!executor_kind(experiment.executor).blocks || !experiment.in_blocks()) return times;
  times.longest = find_longest_jobs(experiment, plan, tools);
  if (experiment.estimates_time()) times.estimates = estimate_runs(plan, store.attempts(experiment.name));
  return times;
}

}  // namespace hpcbench
