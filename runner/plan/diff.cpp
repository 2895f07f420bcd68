#include "plan/diff.hpp"

#include <algorithm>
#include <tuple>

namespace hpcbench {

namespace {

/// A run on record by its row in the plan; rows beyond the plan's are orphaned configurations.
struct RecordedRun {
  std::size_t row = 0;
  std::string_view config_id;
  int number = 1;

  auto key() const { return std::tie(row, config_id, number); }
};

std::vector<RecordedRun> distinct_runs(const Plan& plan, const std::vector<ExistingRun>& existing) {
  std::vector<RecordedRun> runs;
  runs.reserve(existing.size());
  for (const ExistingRun& run : existing) {
    if (!run.run.is_repeat()) continue;
    const bool same_row = !runs.empty() && runs.back().config_id == run.config_id;
    const std::size_t row = same_row ? runs.back().row : plan.find(run.config_id).value_or(plan.configurations.size());
    runs.push_back({row, run.config_id, run.run.number});
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
      if (diff.orphan_ids.empty() || diff.orphan_ids.back() != run.config_id) diff.orphan_ids.emplace_back(run.config_id);
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
