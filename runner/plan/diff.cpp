#include "plan/diff.hpp"

#include <algorithm>
#include <tuple>

namespace hpcbench {

namespace {

/// A run on record by its row in the plan; rows beyond the plan's are orphaned configurations.
struct RecordedRun {
  std::size_t row = 0;
  const std::string* config_id = nullptr;
  int number = 1;

  auto key() const { return std::tie(row, *config_id, number); }
};

std::vector<RecordedRun> distinct_runs(const Plan& plan, const std::vector<ExistingRun>& existing) {
  std::vector<RecordedRun> runs;
  runs.reserve(existing.size());
  for (const ExistingRun& run : existing) {
    if (!run.run.is_repeat()) continue;
    runs.push_back({plan.find(run.config_id).value_or(plan.configurations.size()), &run.config_id, run.run.number});
  }
  std::sort(runs.begin(), runs.end(), [](const RecordedRun& a, const RecordedRun& b) { return a.key() < b.key(); });
  runs.erase(
      std::unique(runs.begin(), runs.end(), [](const RecordedRun& a, const RecordedRun& b) { return a.key() == b.key(); }),
      runs.end());
  return runs;
}

}  // namespace

PlanDiff compare_plan(const Plan& plan, const std::vector<ExistingRun>& existing) {
  PlanDiff diff;
  diff.rows.resize(plan.configurations.size());
  for (const RecordedRun& run : distinct_runs(plan, existing)) {
    if (run.row == plan.configurations.size()) {
      ++diff.total.orphaned;
      if (diff.orphan_ids.empty() || diff.orphan_ids.back() != *run.config_id) diff.orphan_ids.push_back(*run.config_id);
    } else {
      RunCounts& row = diff.rows[run.row];
      ++(run.number <= plan.repeats ? row.kept : row.orphaned);
    }
  }
  for (RunCounts& row : diff.rows) {
    row.fresh = plan.repeats - row.kept;
    diff.total.fresh += row.fresh;
    diff.total.kept += row.kept;
    diff.total.orphaned += row.orphaned;
  }
  return diff;
}

}  // namespace hpcbench
