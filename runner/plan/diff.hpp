#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/run_name.hpp"
#include "plan/plan.hpp"

namespace hpcbench {

/// How a plan compares with what has been measured already; counts of runs (warm-ups aside).
struct RunCounts {
  long long fresh = 0;     // asked for, no attempt yet that stands
  long long kept = 0;      // asked for, an attempt exists
  long long orphaned = 0;  // exists, no longer asked for
};

struct PlanDiff {
  RunCounts total;
  std::vector<RunCounts> rows;          // one per configuration of the plan
  std::vector<std::string> orphan_ids;  // config_ids on disk that the plan no longer asks for, sorted
};

/// `existing`: the runs that have an attempt on record, of this experiment; any order, repeats allowed. Fast where the runs of
/// a configuration come one after the other.
struct ExistingRun {
  std::string_view config_id;
  RunName run;
};
PlanDiff compare_plan(const Plan& plan, const std::vector<ExistingRun>& existing);

/// Text for people, and D11's JSON. `gpu_hours` and `node_hours` as plan.hpp computes them.
std::string plan_text(const Experiment& experiment, const Plan& plan, const PlanDiff& diff);
std::string plan_json(const Experiment& experiment, const Plan& plan, const PlanDiff& diff);

}  // namespace hpcbench
