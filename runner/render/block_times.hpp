#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace hpcbench {

/// What a run of a configuration will probably take, at most its limit.
struct RunEstimate {
  double seconds = 0;
  int runs = 0;  // finished ones that say so
};

/// From what finished runs of one configuration took: 1.5 times their 90 % quantile (the smallest of them that 90 % do not
/// exceed), at most the limit. `took_s` has one value at least.
RunEstimate estimate_run(std::vector<double> took_s, double limit_s);

/// The longest job that Slurm takes.
struct LongestJob {
  double seconds = 0;
  std::string whose;  // limit it is: MaxTime of partition `short`
};

/// What is known beside the experiment file of how long blocks take, and may take.
struct BlockTimes {
  std::map<std::string, RunEstimate> estimates;  // by config_id; of a study with `allocation: {time: auto}` alone
  std::map<std::string, LongestJob> longest;     // by partition_of; those that are not there have no limit, or none is known

  /// What the job of this attempt's block asks for for it; null: for the run's limit, as for each attempt after its first one.
  const RunEstimate* estimate_of(const std::string& config_id, int attempt) const {
    const auto found = estimates.find(config_id);
    return attempt > 1 || found == estimates.end() ? nullptr : &found->second;
  }
};

/// The partitions that a configuration's jobs may go to, as Slurm is asked for them: the file's, else the site's; empty: the
/// default one.
std::string partition_of(const Experiment& experiment, const Configuration& configuration);

/// How the time that blocks ask for is made, for people: a line for each configuration, of many for the first ones; one where
/// nothing has finished yet.
std::vector<std::string> describe_estimates(const Plan& plan, const BlockTimes& times);

}  // namespace hpcbench
