#include "study/round_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/interrupt.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "study/blocks/find_block_times.hpp"
#include "study/follow.hpp"
#include "study/index.hpp"
#include "study/watch_ends.hpp"

namespace hpcbench {

namespace {

bool any_unfinished(const std::vector<AttemptState>& states) {
  return std::any_of(states.begin(), states.end(), [](const AttemptState& attempt) { return !is_outcome(attempt.state); });
}

/// Configurations some of whose runs are to begin, or have not ended.
std::vector<std::size_t> open_configurations(const Plan& plan, const std::vector<AttemptState>& states,
                                             const std::vector<AttemptKey>& retried) {
  std::unordered_map<std::string, long long> ended;
  for (const AttemptState& run : counting_states(states))
    ended[run.key.config_id] += is_outcome(run.state) && is_asked(plan, run.key);
  for (const AttemptKey& key : retried) ended[key.config_id] = 0;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
    if (ended[plan.configurations[i].id] < plan.repeats) open.push_back(i);
  }
  return open;
}

}  // namespace

RoundRun::RoundRun(const Study& study, const RunOptions& options, Round round, std::vector<AttemptState> states,
                   RoundQueue& rounds, StudyWatch& watch, Call& call)
    : study_(study),
      options_(options),
      round_(std::move(round)),
      states_(std::move(states)),
      rounds_(rounds),
      watch_(watch),
      call_(call),
      retried_(attempts_to_retry(states_, round_.plan, round_.retry)),
      open_(open_configurations(round_.plan, states_, retried_)),
      context_(make_render_context(study)) {
  if (!retried_.empty()) say(fmt::format("{} again", counted(static_cast<long long>(retried_.size()), "run runs", "runs run")));
  context_.block_times = find_block_times(study_.experiment, round_.plan, *call_.store, tools_);
  if (any_unfinished(states_)) taking_over_.emplace(call_.taking_over, study_.experiment.name);
  if (!round_.plan.prepared.empty())
    preparing_.emplace(study_, round_.plan, open_, round_.prepare_again, options_.detach, context_, call_);
}

Pace RoundRun::step() {
  if (is_cancelled()) return cancel();
  if (dispatcher_) return carry_out();
  if (preparing_) {
    const Pace pace = preparing_->step();
    if (pace == Pace::ended) ending_ = Ending::interrupted;
    if (pace != Pace::again) return pace;
    preparing_.reset();
  }
  take_over();
  return Pace::again;  // all studies take over their jobs before any of them begins more
}

/// Takes over jobs of earlier calls.
void RoundRun::take_over() {
  runnable_ = find_runnable(study_, round_.plan, open_, context_);
  executor_ = &call_.executors.of(study_);
  listeners_.emplace(*call_.store, study_, call_.progress, call_.clock, watch_);
  const Plan& plan = runnable_->part ? *runnable_->part : round_.plan;
  dispatcher_.emplace(study_.experiment, plan, std::move(context_), *executor_, call_.clock, listeners_->events);
  if (rounds_.is_adaptive()) dispatcher_->hold_when([this] { return rounds_.why_held(listeners_->cost.hours()); });
  dispatcher_->recover(states_);
  taking_over_.reset();
  dispatcher_->retry(retried_);
  listeners_->index.flush(true);
  accounting_.emplace(study_, tools_, call_.clock);
  accounting_->catch_up(*call_.store);
  has_done_anything_ = dispatcher_->counts().ended < dispatcher_->counts().asked;
  if (!has_done_anything_) return;
  call_.progress.begin_round(study_.experiment.name, round_.name, dispatcher_->counts());
  expect_runs(call_.progress.remaining(), study_, round_.plan, *call_.store, states_, retried_);
  call_.progress.show(study_.experiment.name, dispatcher_->counts());
}

/// Whether runs may begin: jobs that earlier calls left running are counted, and runs on this machine are disturbed by no
/// preparation, and have a free slot.
bool RoundRun::may_begin() {
  if (interrupted() != 0 || !call_.taking_over.empty()) return false;
  if (!executor_->runs_here()) return true;
  return call_.making_here.empty() && (dispatcher_->counts().running > 0 || executor_->free_slots() > 0);
}

/// Submits and settles what can be now.
Pace RoundRun::carry_out() {
  const std::string& name = study_.experiment.name;
  has_begun_ = has_begun_ || may_begin();
  if (has_begun_ && !dispatcher_->step()) {
    call_.progress.count(name, dispatcher_->counts());
    return end(Ending::finished);
  }
  if (has_begun_) call_.progress.show(name, dispatcher_->counts(), executor_->waiting());
  listeners_->index.flush(false);
  const bool all_handed_over = options_.detach && dispatcher_->all_submitted();
  if (interrupted() != 0 || all_handed_over) {
    listeners_->index.flush(true);
    say_detached();
    return end(interrupted() != 0 ? Ending::interrupted : Ending::detached);
  }
  std::optional<std::string> why = executor_->broken();
  if (!why) why = watch_.reason_to_stop();
  if (!why) return Pace::wait;
  stop_early(*why);
  return end(Ending::stopped);
}

Pace RoundRun::end(Ending ending) {
  const bool waits = ending == Ending::finished && runnable_->awaits;
  ending_ = waits ? Ending::detached : ending;
  if (ending_ == Ending::interrupted) return Pace::ended;
  executor_->flush();
  listeners_->index.flush(true);
  if (ending_ == Ending::detached) return Pace::ended;
  if (ending_ == Ending::stopped || ending_ == Ending::cancelled)
    refresh_index(*call_.store, study_.results_root, study_.experiment.name);
  accounting_->complete(*call_.store);
  listeners_->missed.tell_runs_without_value();
  call_.progress.finish();
  return Pace::ended;
}

Pace RoundRun::cancel() {
  if (dispatcher_) {
    end_jobs();
    return end(Ending::cancelled);
  }
  if (preparing_) preparing_->end_here();
  ending_ = Ending::cancelled;
  return Pace::ended;
}

/// Ends what runs; what has not been handed over stays planned.
void RoundRun::end_jobs() {
  std::vector<AttemptState> active;
  for (const AttemptKey& key : dispatcher_->running()) active.push_back({key, State::submitted});
  listeners_->failures.expect_cancels();
  call_.progress.finish();
  const CancelCounts cancelled = cancel_attempts(study_.results, active, *executor_, listeners_->events);
  watch_ends(study_, cancelled.asked, *executor_, listeners_->events);
  listeners_->index.flush(true);
}

/// Runs that have not begun would only fail, too.
void RoundRun::stop_early(const std::string& why) {
  end_jobs();
  const OutcomeCounts counts = count_outcomes(counting_states(call_.store->states(study_.experiment.name)), round_.plan);
  say(stopped_text(study_, why, fmt::format("{} of {} runs were not carried out", counts.not_carried_out(), counts.asked)));
}

/// How many jobs continue without us, and what is left for another call.
void RoundRun::say_detached() {
  call_.progress.finish();
  const OutcomeCounts counts = dispatcher_->counts();
  const long long not_begun = counts.asked - counts.ended - counts.running;
  const std::string waiting = executor_->waiting();
  const bool blocks = study_.experiment.in_blocks();  // of many runs a job
  const std::string going_on =
      counted(counts.running, blocks ? "run continues" : "job continues", blocks ? "runs continue" : "jobs continue");
  std::string text = counts.running == 0 ? "nothing runs" : going_on;
  if (counts.running > 0 && !waiting.empty()) text += fmt::format(" ({})", waiting);
  text += not_begun == 0 ? ""
                         : fmt::format(", {} not {}", counted(not_begun, "run has", "runs have"),
                                       executor_->runs_here() ? "begun" : "been submitted");
  say(fmt::format("detached: {}. `{}{}{}` carries on{}.", text, study_.command("run"), study_.narrowing,
                  options_.at_most_hours ? " --at-most ..." : "",  // counted from the start by each call
                  counts.running > 0 ? fmt::format(", `{}` ends what runs", study_.command("cancel")) : ""));
}

}  // namespace hpcbench
