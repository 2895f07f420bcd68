#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/diff.hpp"
#include "report/looks.hpp"
#include "store/store.hpp"
#include "study/run_study.hpp"
#include "study/study.hpp"

namespace hpcbench {

// A study whose number of repeats depends on what was measured (`repeats: {until: ...}`), or that a budget may end, is run in
// rounds that follow from the ones before: up to the next look of the rows that are not decided, or with a budget block by
// block. The next round follows from the run directories alone, so another call continues after one that was killed.

bool runs_in_rounds(const Study& study, const RunOptions& options);

/// The cost of this attempt alone, if it has ended. One without an end that anybody saw took at most its limit, and no longer
/// than until that was concluded.
double attempt_hours(const AttemptRecord& attempt, CostUnit unit);

// All hours are in the unit of the study's plan (Plan::cost_unit).

/// Where a study stands, as the index says.
struct RoundsView {
  std::vector<LookProgress> rows;  // of the whole plan, in its order
  double spent_hours = 0;          // of all attempts that have ended, whatever their outcome
};
RoundsView look_at_rounds(const Study& study, const Store& store);

/// Runs that are planned together. All runs of a study without `until` and budget are one round.
struct Round {
  Plan plan = {};                  // these configurations, up to repeat `plan.repeats`: runs that have ended stay as they are
  std::string name = {};           // `block 3`; empty: it needs none
  std::vector<State> retry = {};   // outcomes whose runs get a new attempt first
  std::string prepare_again = {};  // a preparation that gets a new attempt first; empty: none
  double expected_hours = 0;       // of the runs that are missing, as far as that is known
  bool by_limits = false;          // of some of them only the time limits are known
};

/// What comes next: a round, or why there is none. All empty: nothing is left to do.
struct NextRound {
  std::optional<Round> round;
  std::optional<Round> too_dear;  // the next block, where it takes more than is left
};

/// `left_hours`: what may still be spent; absent: as much as it takes. Of a study with `until` the rows that are
/// cheapest to finish go first then (docs/statistics.md). UnavailableError where a budget is set, no run of a row has ended,
/// and no time limit says what one may cost.
NextRound next_round(const Study& study, const RoundsView& view, std::optional<double> left_hours);

/// `the next one takes about 4 GPU-hours, and 3 are left`, and what that counts where it is not what runs took.
std::string too_dear_text(const Study& study, const Round& block, double left_hours);

/// What the file's budget and this amount of the call leave; absent where there is neither.
std::optional<double> hours_left(const Study& study, const RoundsView& view, std::optional<double> of_call);

/// Whether the file's budget leaves enough for the next block, if there is one. Where that is not known, it does.
bool may_begin_block(const Study& study, const RoundsView& view);

/// For people: how many rows are decided, each one that is not and why, what is spent and what the rest would cost. Empty for a
/// study of fixed repeats without a budget.
std::vector<std::string> rounds_lines(const Study& study, const RoundsView& view);
/// The same for status --format json: `"looks": {...}, ` or empty.
std::string rounds_json(const Study& study, const RoundsView& view);

/// Counts as new only what the next round starts, if the study has rounds.
void count_next_round(const Study& study, const RoundsView& view, PlanDiff& diff);

/// The same before a call begins, which refuses what next_round would refuse then.
void check_next_round(const Study& study, const Store& store, const RunOptions& options, PlanDiff& diff);

/// The last repeat of a configuration that is begun, or that the study goes on to.
int last_repeat(const LookProgress& row);

/// The hours that the studies of one call have spent, or may spend by the blocks that they are in.
class CallBudget {
 public:
  /// A study has spent so much in all, and begins a block that may take so much more; none: it is in no block.
  void commit(const std::string& study, double spent_hours, std::optional<double> block_hours);
  /// It ends: what it may still spend stays put aside, since its jobs may go on.
  void leave(const std::string& study) { parts_[study].busy = false; }
  /// It has spent so much by now, in the block that it is in, too.
  void note_spent(const std::string& study, double spent_hours) { parts_[study].spent_hours = spent_hours; }
  /// What the others have spent, or may spend.
  double of_others(const std::string& study) const;
  /// Whether another one is in a block, which may take less than is committed.
  bool others_busy(const std::string& study) const;
  /// Of all, so far.
  double spent_hours() const;

 private:
  struct Part {
    double spent_hours = 0;
    double committed_hours = 0;
    bool busy = false;
  };
  std::map<std::string, Part> parts_;
};

}  // namespace hpcbench
