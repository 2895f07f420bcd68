#include "submit/dispatcher.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "runfiles/claim.hpp"
#include "submit/continuation.hpp"
#include "submit/dispatcher_impl.hpp"

namespace hpcbench {

namespace {

constexpr double kUnseenLookInterval = 1;    // seconds between looks for a finished.json that another host will write
constexpr std::size_t kLaunchLogTail = 300;  // bytes of a job's last words in its outcome

}  // namespace

Dispatcher::Impl::Impl(const Experiment& the_experiment, const Plan& the_plan, RenderContext the_context,
                       Executor& the_executor, Clock& the_clock, Events& the_events)
    : experiment(the_experiment),
      plan(the_plan),
      context(std::move(the_context)),
      executor(the_executor),
      clock(the_clock),
      events(the_events),
      runs(the_plan, the_executor.runs_here()) {}

bool Dispatcher::Impl::step() {
  collect_ended();
  // Free slots are filled before outcomes are read and written: reading takes time in which the machine would idle. What holds
  // the rest back has to know them first.
  if (!hold) hand_over();
  settle_ended();
  const bool goes_on = asked_for || !is_held();
  if (goes_on) make_batches();
  hand_over();
  return runs.open() > 0 && (goes_on || !active.empty() || !ended.empty());
}

bool Dispatcher::Impl::has_ended(Attempt& job) {
  if (job.unseen) {
    if (clock.monotonic_s() < job.next_look_s) return false;
    job.next_look_s = clock.monotonic_s() + kUnseenLookInterval;
    if (has_finished(job.folder)) return true;
  }
  const JobStatus status = executor.status(job.folder, job.job);
  job.unseen = status.state == JobState::unknown;
  job.end = status;
  return status.state == JobState::ended;
}

void Dispatcher::Impl::collect_ended() {
  const auto gone = std::stable_partition(active.begin(), active.end(), [&](Attempt& job) { return !has_ended(job); });
  std::move(gone, active.end(), std::back_inserter(ended));
  active.erase(gone, active.end());
}

void Dispatcher::Impl::hand_over() {
  while (hand_over_some()) {
  }
}

/// The next attempts of one batch, as many as the executor takes at a time; none while the first of them may not begin.
std::vector<AttemptKey> Dispatcher::Impl::next_keys() const {
  std::vector<AttemptKey> keys;
  if (!asked_for && is_held()) return keys;
  const std::size_t room = pending.empty() ? 0 : static_cast<std::size_t>(std::max(0, executor.free_slots()));
  std::size_t elements = 0;  // of the batch: those of one block have one index
  int index = 0;             // of the last
  for (const Attempt& next : pending) {
    const bool begins = elements == 0 || next.index != index || !in_blocks();
    const bool follows = elements == 0 || next.index == index + (begins ? 1 : 0);
    if ((begins && elements == room) || next.live != pending.front().live || !follows || !runs.may_begin(next.run)) break;
    if (begins) ++elements;
    index = next.index;
    keys.push_back(next.key);
  }
  return keys;
}

/// Attempts at the front whose folders a program of another run has deleted never ran: their runs get new ones. Jobs in a
/// queue are elements of one script, and the job of such an attempt says what is missing.
void Dispatcher::Impl::leave_out_deleted() {
  while (executor.runs_here() && !pending.empty()) {
    const Attempt next = pending.front();
    if (has_run_json(next.folder)) return;
    require_results();
    events.note(fmt::format("{}: its folder was deleted before it began; the run gets a new attempt", to_string(next.key)));
    pending.pop_front();
    next.live->batch.note_leaving(next.key);
    if (--next.live->waiting == 0) next.live->batch.close();
    make_folders(next.folder);
    const Seizure revoked = revoke_attempt(fmt::format("{}its folder was deleted before it began", kVoidPrefix));
    if (seize_attempt(next.folder, revoked)) apply(next.run, next.key, revoked.verdict);
  }
}

/// Throws if a program deleted the study's results: nothing can be recorded, and a lock that is gone protects nothing.
void Dispatcher::Impl::require_results() const {
  if (::access((context.results + "/batches").c_str(), F_OK) == 0 || errno != ENOENT) return;
  throw UnavailableError(
      fmt::format("error: {}/batches was deleted while runs of the study ran, and perhaps results with it. A program may "
                  "delete only what is in {{{{run_dir}}}}: correct the one that deletes more, then call `hpcbench run` again",
                  context.results));
}

/// False if nothing is left to hand over now.
bool Dispatcher::Impl::hand_over_some() {
  leave_out_deleted();
  const std::vector<AttemptKey> keys = next_keys();
  if (keys.empty()) return false;
  const std::shared_ptr<LiveBatch> live = pending.front().live;
  AttemptBatch& batch = live->batch;
  AttemptSpan span{batch.id(), pending.front().index, {}, {}};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    span.folders.push_back(pending[i].folder);
    span.hashes.push_back(pending[i].hash);
    if (!in_blocks()) continue;
    if (i == 0 || pending[i].index != pending[i - 1].index) span.blocks.push_back(0);
    ++span.blocks.back();
  }
  batch.note_leaving(keys);
  const Submission submission = executor.submit(span);
  const std::size_t taken = std::min(submission.jobs.size(), keys.size());
  const bool returned = submission.kind == Submission::Kind::refused || submission.kind == Submission::Kind::later;
  if (returned) batch.note_returned({keys.begin() + static_cast<std::ptrdiff_t>(taken), keys.end()});
  if (submission.kind == Submission::Kind::doubtful) {
    events.note(fmt::format("not known whether batch {} was submitted ({}); it is looked for", span.batch, submission.text));
  }
  for (std::size_t i = 0; i < (returned ? taken : keys.size()); ++i) {
    const std::size_t run = pending.front().run;
    pending.pop_front();
    --live->waiting;
    if (i < taken) {
      batch.note_job(keys[i], submission.jobs[i]);
      watch(run, keys[i], submission.jobs[i], span.batch);
    } else {
      take_over(run, keys[i], fmt::format("{}doubtful submission: {}", kVoidPrefix, submission.text), span.batch);
    }
  }
  if (live->waiting == 0) batch.close();
  if (submission.kind == Submission::Kind::refused) {
    throw UnavailableError(fmt::format(
        "error: executor `{}` takes no job: {}\nOf batch {} {} not started. Mend that, then `hpcbench run` carries on.",
        executor.name(), submission.text, span.batch,
        counted(static_cast<long long>(keys.size() - taken), "attempt was", "attempts were")));
  }
  return true;
}

void Dispatcher::Impl::watch(std::size_t run, const AttemptKey& key, const std::string& job, const std::string& batch) {
  if (is_highest(run, key)) runs.set_state(run, State::submitted);
  active.push_back({.run = run, .key = key, .folder = folder_of(key), .batch = batch, .job = job});
  events.submitted(key, job);
}

std::string Dispatcher::Impl::died_early(const Attempt& job) const {
  std::string why = "the job ended before it began";
  if (!job.end.text.empty()) why += fmt::format(" ({})", job.end.text);
  if (job.batch.empty() || job.end.log.empty()) return why;
  const std::string words = read_tail(context.results + "/batches/" + job.batch + "/" + job.end.log, kLaunchLogTail);
  if (!trim(words).empty()) why += fmt::format(": {}", trim(words));
  return why;
}

void Dispatcher::Impl::settle_ended() {
  if (!ended.empty()) require_results();
  while (!ended.empty()) {
    const Attempt job = std::move(ended.front());
    ended.pop_front();
    Verdict verdict = judge_attempt(job.folder, job.job, job.end.text, if_unclaimed(job), executor);
    heed_executor(verdict, job.end);
    apply(job.run, job.key, verdict);
  }
}

Seizure Dispatcher::Impl::if_unclaimed(const Attempt& job) const {
  if (is_taken(job.folder)) return bury_attempt(job.batch, job.job, "");
  return seize_unbegun(job.end, job.batch, job.end.job.empty() ? job.job : job.end.job, died_early(job));
}

void Dispatcher::Impl::apply(std::size_t run, const AttemptKey& key, const Verdict& verdict) {
  if (verdict.state == JobState::ended) {
    const State outcome = events.ended(key, verdict.outcome, verdict.reason);
    if (!verdict.is_void) return conclude(run, key, outcome, verdict.job);
    if (is_highest(run, key)) requeue(run);
    return;
  }
  const bool unseen = verdict.state == JobState::unknown;
  const std::string folder = folder_of(key);
  if (unseen) {
    events.note(
        fmt::format("{}: cannot see its job from here: {}; waiting for its finished.json", to_string(key), verdict.reason));
  } else {
    executor.adopt(folder, verdict.job);
  }
  active.push_back({.run = run, .key = key, .folder = folder, .job = verdict.job, .unseen = unseen});
  if (is_highest(run, key)) runs.set_state(run, State::running);
  events.submitted(key, verdict.job);
}

void Dispatcher::Impl::conclude(std::size_t run, const AttemptKey& key, State outcome, const std::string& job) {
  // The job has ended, so a folder from which no outcome can be read has lost it.
  const State state = is_outcome(outcome) ? outcome : State::lost;
  runs.note_end(run, key.attempt, state, is_miss(key, state));
  if (!is_highest(run, key)) return;
  runs.set_state(run, state);
  const NextAttempt next = next_of(run);
  const bool is_continued = next == NextAttempt::segment;
  if (next == NextAttempt::none) {
    const std::string why = why_not_continued(experiment, context.results, key, state);
    if (!why.empty()) events.note(fmt::format("{}: {}; {}", to_string(key), to_string(state), why));
    return;
  }
  if (const std::string why = why_held(); !why.empty()) {
    events.note(fmt::format("{}: {}; it waits to be {}: {}", to_string(key), to_string(state),
                            is_continued ? "continued" : "tried again", why));
    return;
  }
  if (!is_continued || !has_finished(folder_of(key))) executor.cancel(folder_of(key), job);
  events.tried_again(key);
  events.note(fmt::format("{}: {}; it {}", to_string(key), to_string(state), is_continued ? "is continued" : "is tried again"));
  requeue(run);
}

/// The attempt that follows the highest one of a run, if that has an outcome.
NextAttempt Dispatcher::Impl::next_of(std::size_t run) const {
  if (!is_outcome(runs[run].state())) return NextAttempt::none;
  return next_attempt(experiment, context.results, runs.key(run, runs[run].highest()), runs[run].history);
}

/// What follows an attempt that was a segment and did not succeed is that segment again, but where the run goes on from it.
Segment Dispatcher::Impl::next_segment(std::size_t run) const {
  const RunHistory& history = runs[run].history;
  if (!experiment.continuation || history.highest() == 0 || history.is_closed()) return {};
  const AttemptKey key = runs.key(run, history.highest());
  const auto claim = read_claim(folder_of(key));
  const bool ended = !(claim && claim->revoked) && history.last_ended() == key.attempt;
  if (ended && history.last_outcome() == State::succeeded) return {};
  if (ended && goes_on(experiment, context.results, key, history.last_outcome()))
    return segment_after(context.results, key, experiment.is_trainer());
  return segment_of(context.results, key);
}

void Dispatcher::Impl::requeue(std::size_t run) {
  runs.set_state(run, State::planned);
  if (run < cursor) again.push_back(run);
}

Dispatcher::Dispatcher(const Experiment& experiment, const Plan& plan, RenderContext context, Executor& executor, Clock& clock,
                       Events& events)
    : impl_(std::make_unique<Impl>(experiment, plan, std::move(context), executor, clock, events)) {}

Dispatcher::~Dispatcher() = default;

void Dispatcher::hold_when(std::function<std::string()> why) { impl_->hold = std::move(why); }

void Dispatcher::recover(const std::vector<AttemptState>& known) { impl_->recover(known); }

long long Dispatcher::retry(const std::vector<AttemptKey>& finished) { return impl_->retry(finished); }

bool Dispatcher::step() { return impl_->step(); }

OutcomeCounts Dispatcher::counts() const {
  OutcomeCounts counts = impl_->runs.counts();
  counts.running = static_cast<long long>(impl_->active.size());
  return counts;
}

bool Dispatcher::all_submitted() const {
  const bool none_left = impl_->pending.empty() && impl_->again.empty() && impl_->cursor >= impl_->runs.size();
  return none_left || (!impl_->asked_for && impl_->is_held());
}

std::vector<AttemptKey> Dispatcher::running() const {
  std::vector<AttemptKey> keys;
  for (const Impl::Attempt& job : impl_->active) keys.push_back(job.key);
  return keys;
}

}  // namespace hpcbench
