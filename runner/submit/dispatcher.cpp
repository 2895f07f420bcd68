#include "submit/dispatcher.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "runfiles/claim.hpp"
#include "submit/dispatcher_impl.hpp"

namespace hpcbench {

namespace {

constexpr double kUnseenLookInterval = 1;    // seconds between looks for a finished.json that another host will write
constexpr std::size_t kLaunchLogTail = 300;  // bytes of a job's last words in its outcome

bool runs_warmups(const Executor& executor) { return executor.name() == "local"; }

}  // namespace

Dispatcher::Impl::Impl(const Experiment& the_experiment, const Plan& the_plan, RenderContext the_context,
                       Executor& the_executor, Clock& the_clock, DispatchObserver& the_observer)
    : experiment(the_experiment),
      plan(the_plan),
      context(std::move(the_context)),
      executor(the_executor),
      clock(the_clock),
      observer(the_observer),
      runs(the_plan, runs_warmups(the_executor)) {}

bool Dispatcher::Impl::step() {
  // Free slots are filled before outcomes are read and written: reading takes time in which the machine would idle.
  collect_ended();
  hand_over();
  settle_ended();
  make_batches();
  hand_over();
  return runs.open() > 0;
}

bool Dispatcher::Impl::has_ended(Active& job) {
  if (job.unseen) {
    if (clock.monotonic_s() < job.next_look_s) return false;
    job.next_look_s = clock.monotonic_s() + kUnseenLookInterval;
    if (has_finished(job.folder)) return true;
  }
  const JobStatus status = executor.status(job.folder, job.job);
  job.unseen = status.kind == JobStatus::Kind::unknown;
  job.end = status;
  return status.kind == JobStatus::Kind::ended;
}

void Dispatcher::Impl::collect_ended() {
  const auto gone = std::stable_partition(active.begin(), active.end(), [&](Active& job) { return !has_ended(job); });
  std::move(gone, active.end(), std::back_inserter(ended));
  active.erase(gone, active.end());
}

void Dispatcher::Impl::hand_over() {
  if (executor.in_batches()) {
    while (hand_over_some()) {
    }
    return;
  }
  while (!pending.empty() && runs.may_begin(pending.front().run) && executor.free_slots() > 0) {
    const Pending next = pending.front();
    pending.pop_front();
    submit_one(next);
    if (--next.batch->waiting == 0) next.batch->batch.close();
  }
}

void Dispatcher::Impl::submit_one(const Pending& next) {
  const RunTable::Run& run = runs[next.run];
  const Configuration& configuration = plan.configurations[run.planned.configuration];
  const AttemptKey key = runs.key(next.run, run.attempt);
  AttemptBatch& batch = next.batch->batch;
  const JobRequest request{folder_of(key), batch.id(), configuration.gpus(), configuration.work->resources.time_s};
  batch.note_leaving(key);
  const Submission submission = executor.submit(request);
  switch (submission.kind) {
    case Submission::Kind::accepted:
      batch.note_job(key, submission.job);
      runs.set_state(next.run, State::submitted);
      active.push_back({.run = next.run, .key = key, .folder = request.folder, .job = submission.job, .batch = batch.id()});
      observer.submitted(key, submission.job);
      break;
    case Submission::Kind::refused: {
      const std::string why = fmt::format("{}refused by the executor: {}", kVoidPrefix, submission.text);
      apply(next.run, key, judge_attempt(request.folder, {}, std::nullopt, revoke_attempt(why), executor));
      throw UnavailableError(fmt::format(
          "error: executor `{}` takes no job: {}\nNothing was started for {}. Mend that, then `hpcbench run` carries on.",
          executor.name(), submission.text, to_string(key)));
    }
    case Submission::Kind::doubtful: {
      observer.note(fmt::format("{}: not known whether it was started ({}); it is revoked unless its job has begun",
                                to_string(key), submission.text));
      const std::string why = fmt::format("{}doubtful submission: {}", kVoidPrefix, submission.text);
      apply(next.run, key, judge_attempt(request.folder, submission.job, std::nullopt, revoke_attempt(why), executor));
      break;
    }
  }
}

/// Hands over the next attempts of one batch, as many as the executor takes at a time. False if there are none, or it takes
/// none.
bool Dispatcher::Impl::hand_over_some() {
  const int room = pending.empty() ? 0 : executor.free_slots();
  if (room <= 0) return false;
  const std::shared_ptr<LiveBatch> batch = pending.front().batch;
  BatchRequest request{batch->batch.id(), pending.front().index, {}};
  std::vector<AttemptKey> keys;
  for (const Pending& next : pending) {
    const int place = static_cast<int>(keys.size());
    if (next.batch != batch || next.index != request.first + place || place == room) break;
    keys.push_back(runs.key(next.run, runs[next.run].attempt));
    request.folders.push_back(folder_of(keys.back()));
  }
  batch->batch.note_leaving(keys);
  const BatchSubmission submission = executor.submit_batch(request);
  if (submission.kind == BatchSubmission::Kind::refused || submission.kind == BatchSubmission::Kind::later) {
    batch->batch.note_returned(keys);
    if (submission.kind == BatchSubmission::Kind::later) return true;
    throw UnavailableError(fmt::format(
        "error: executor `{}` takes no job: {}\nNothing was submitted for batch {}. Mend that, then `hpcbench run` carries on.",
        executor.name(), submission.text, request.batch));
  }
  if (submission.kind == BatchSubmission::Kind::doubtful) {
    observer.note(
        fmt::format("not known whether batch {} was submitted ({}); it is looked for", request.batch, submission.text));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string job = i < submission.jobs.size() ? submission.jobs[i] : "";
    watch(pending.front().run, keys[i], job, request.batch);
    pending.pop_front();
    if (!job.empty()) batch->batch.note_job(keys[i], job);
    --batch->waiting;
  }
  if (batch->waiting == 0) batch->batch.close();
  return true;
}

void Dispatcher::Impl::watch(std::size_t run, const AttemptKey& key, const std::string& job, const std::string& batch) {
  if (is_highest(run, key)) runs.set_state(run, State::submitted);
  active.push_back({.run = run, .key = key, .folder = folder_of(key), .job = job, .batch = batch});
  observer.submitted(key, job);
}

std::string Dispatcher::Impl::died_early(const Active& job) const {
  std::string why = "the job ended before it began";
  if (!job.end.text.empty()) why += fmt::format(" ({})", job.end.text);
  if (job.batch.empty()) return why;
  const std::string log = executor.in_batches() ? fmt::format("slurm-{}.out", job.end.job) : "launch.log";
  const std::string words = read_tail(context.results + "/batches/" + job.batch + "/" + log, kLaunchLogTail);
  if (!trim(words).empty()) why += fmt::format(": {}", trim(words));
  return why;
}

void Dispatcher::Impl::settle_ended() {
  while (!ended.empty()) {
    const Active job = std::move(ended.front());
    ended.pop_front();
    Verdict verdict = judge_attempt(job.folder, job.job, job.end.text, if_unclaimed(job), executor);
    const bool lost = verdict.kind == Verdict::Kind::settled && verdict.outcome == State::lost;
    if (lost && job.end.outcome && !job.end.job.empty() && verdict.job == job.end.job) {
      verdict.outcome = *job.end.outcome;
      verdict.reason = job.end.text;
    }
    apply(job.run, job.key, verdict);
  }
}

Seizure Dispatcher::Impl::if_unclaimed(const Active& job) const {
  if (is_taken(job.folder)) return bury_attempt(job.batch, job.job, "");
  if (job.end.voids) return revoke_attempt(std::string(kVoidPrefix) + job.end.text);
  if (job.end.unclaimed == State::cancelled) return revoke_attempt(job.end.text);
  Seizure buried = bury_attempt(job.batch, job.end.job.empty() ? job.job : job.end.job, died_early(job));
  buried.verdict.outcome = job.end.unclaimed.value_or(State::lost);
  return buried;
}

void Dispatcher::Impl::apply(std::size_t run, const AttemptKey& key, const Verdict& verdict) {
  switch (verdict.kind) {
    case Verdict::Kind::finished:
      conclude(run, key, observer.settled(key, std::nullopt, {}), {});
      break;
    case Verdict::Kind::settled:
      conclude(run, key, observer.settled(key, verdict.outcome, verdict.reason), verdict.job);
      break;
    case Verdict::Kind::voided:
      observer.settled(key, State::cancelled, verdict.reason);
      if (is_highest(run, key)) requeue(run);
      break;
    case Verdict::Kind::active:
    case Verdict::Kind::unseen: {
      const bool unseen = verdict.kind == Verdict::Kind::unseen;
      const std::string folder = folder_of(key);
      if (unseen) {
        observer.note(
            fmt::format("{}: cannot see its job from here: {}; waiting for its finished.json", to_string(key), verdict.reason));
      } else {
        executor.adopt(folder, verdict.job);
      }
      active.push_back({.run = run, .key = key, .folder = folder, .job = verdict.job, .batch = {}, .unseen = unseen});
      if (is_highest(run, key)) runs.set_state(run, State::running);
      observer.submitted(key, verdict.job);
      break;
    }
  }
}

void Dispatcher::Impl::conclude(std::size_t run, const AttemptKey& key, State outcome, const std::string& job) {
  // The job has ended, so a folder from which no outcome can be read has lost it.
  const State state = is_outcome(outcome) ? outcome : State::lost;
  runs.count_miss(run, state);
  if (!is_highest(run, key)) return;
  runs.set_state(run, state);
  if (!runs.may_retry(run, experiment.retries)) return;
  executor.cancel(folder_of(key), job);
  observer.note(fmt::format("{}: {}; it is tried again", to_string(key), to_string(state)));
  requeue(run);
}

void Dispatcher::Impl::requeue(std::size_t run) {
  runs.set_state(run, State::planned);
  if (run < cursor) again.push_back(run);
}

Dispatcher::Dispatcher(const Experiment& experiment, const Plan& plan, RenderContext context, Executor& executor, Clock& clock,
                       DispatchObserver& observer)
    : impl_(std::make_unique<Impl>(experiment, plan, std::move(context), executor, clock, observer)) {}

Dispatcher::~Dispatcher() = default;

void Dispatcher::recover(const std::vector<KnownAttempt>& known) { impl_->recover(known); }

long long Dispatcher::retry(const std::vector<AttemptKey>& finished) { return impl_->retry(finished); }

bool Dispatcher::step() { return impl_->step(); }

DispatchCounts Dispatcher::counts() const {
  DispatchCounts counts = impl_->runs.counts();
  counts.running = static_cast<long long>(impl_->active.size());
  return counts;
}

bool Dispatcher::all_submitted() const {
  return impl_->pending.empty() && impl_->again.empty() && impl_->cursor >= impl_->runs.size();
}

std::vector<AttemptKey> Dispatcher::running() const {
  std::vector<AttemptKey> keys;
  for (const Impl::Active& job : impl_->active) keys.push_back(job.key);
  return keys;
}

}  // namespace hpcbench
