#include "study/study_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/interrupt.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "render/blocks.hpp"
#include "study/blocks/find_block_times.hpp"
#include "study/index.hpp"
#include "study/kept/changed_program.hpp"
#include "study/kept/set_aside.hpp"
#include "study/preflight.hpp"
#include "study/preparing.hpp"
#include "study/study_log.hpp"
#include "submit/cancel_notice.hpp"

namespace hpcbench {

namespace {

namespace fs = std::filesystem;

/// Says which files changed since runs that are kept.
void note_changed_program(const Study& study, const Store& store) {
  const std::string changed = text_of(changed_for_run({study.experiment, study.selected(), study.results}, store));
  if (changed.empty()) return;
  say(fmt::format(
      "note: {}. Their results are kept. `hpcbench run {} --again` measures them again; to keep both versions, give "
      "the command an axis, and the new version a value of it",
      changed, study.named()));
}

/// `retry` carries on with what `run` began. Imported runs are nothing to run again, and no reason to start a study.
void require_begun(const Study& study, const std::vector<AttemptState>& states) {
  const bool begun =
      std::any_of(states.begin(), states.end(), [](const AttemptState& state) { return !state.key.run.is_imported(); });
  if (begun) return;
  throw UnavailableError(fmt::format("error: nothing to retry: no run of {} has been started{}; `hpcbench run {}` starts them",
                                     study.experiment.name, states.empty() ? "" : ", and imported runs stand as they are",
                                     study.experiment.path));
}

void remember(const Study& study) {
  make_folders(study.results);
  // The file last, so that its readers find what it uses.
  const std::vector<FileCopy>& copies = study.experiment.copies;
  for (std::size_t i = copies.size(); i-- > 0;) {
    const fs::path path = fs::path(study.results) / (i == 0 ? "experiment.yaml" : copies[i].name);
    make_folders(path.parent_path());
    write_file(path, copies[i].text, Durability::none);
  }
  LastRun source = study.source;
  // A path is to mean the same wherever the next command is called.
  const bool is_path = source.site.find('/') != std::string::npos || source.site.ends_with(".yaml");
  if (is_path) source.site = fs::absolute(source.site).lexically_normal().string();
  write_last_run(study.results_root, source);
}

bool any_succeeded(const Study& study, const std::vector<AttemptState>& states) {
  const std::vector<AttemptState> runs = counting_states(states);
  return std::any_of(runs.begin(), runs.end(), [&](const AttemptState& run) {
    return run.state == State::succeeded && run.standing == Standing::normal && is_asked(study.selected(), run.key);
  });
}

FailureLimits failure_limits(const Study& study, const PlanDiff& diff, const std::vector<AttemptState>& states,
                             const std::vector<AttemptKey>& retried, const RunOptions& options) {
  FailureLimits limits{options.keep_going, options.max_failures, {}, any_succeeded(study, states)};
  for (std::size_t i = 0; i < diff.rows.size(); ++i) {
    if (diff.rows[i].fresh > 0) limits.to_run.insert(study.selected().configurations[i].id);
  }
  for (const AttemptKey& key : retried) limits.to_run.insert(key.config_id);
  for (const AttemptState& run : counting_states(states)) {
    const bool is_retried = std::find(retried.begin(), retried.end(), run.key) != retried.end();
    const bool stays = run.standing == Standing::normal && !options.again && !is_retried;
    limits.failed_before += stays && is_own_failure(run.state) && is_asked(study.selected(), run.key) ? 1 : 0;
  }
  return limits;
}

/// The finished attempts that `--again` sets aside, and what they change in the comparison of plan and record.
std::vector<AttemptKey> attempts_to_repeat(const Study& study, const std::vector<AttemptState>& states, PlanDiff& diff) {
  std::vector<AttemptKey> keys;
  for (const AttemptState& run : counting_states(states)) {
    if (!is_asked(study.selected(), run.key) || !is_outcome(run.state)) continue;
    const std::vector<AttemptKey> ended = ended_attempts(states, run.key.config_id, run.key.run, 0);
    keys.insert(keys.end(), ended.begin(), ended.end());
    RunCounts& row = diff.rows[*study.selected().find(run.key.config_id)];
    for (RunCounts* const counts : {&row, &diff.total}) {
      ++counts->fresh;
      --counts->kept;
    }
  }
  return keys;
}

/// Says how many runs succeeded, and what comes next; after `stopped` what to do has been said. Returns the exit code.
int say_totals(const Study& study, const OutcomeCounts& totals, bool stopped) {
  if (totals.asked == 0) {  // within a budget
    say("no run has ended");
    return 0;
  }
  if (totals.ended == 0 && stopped) return 1;
  if (totals.succeeded == 0 && totals.ended > 0) {
    say(fmt::format("none of {} runs succeeded{}", totals.asked,
                    stopped ? ""
                            : fmt::format(": `{}` says why; once the cause is fixed, `{}` runs them again",
                                          study.command("status"), study.command("retry"))));
    return 1;
  }
  const long long missed = totals.ended - totals.succeeded;
  say(fmt::format(
      "{} of {} runs succeeded{}. Next: {} --format markdown", totals.succeeded, totals.asked,
      missed > 0 ? fmt::format(", {} did not ({}; {} runs them again)", missed, study.command("status"), study.command("retry"))
                 : "",
      study.command("report")));
  return totals.succeeded == totals.asked ? 0 : 1;
}

}  // namespace

/// Refuses what cannot be started. Counts in `diff` what the next round would begin, and what `--again` repeats, which it
/// returns.
std::vector<AttemptKey> StudyRun::require_startable(const Store& store, const std::vector<AttemptState>& states,
                                                    PlanDiff& diff) const {
  if (!options_.retry.empty()) require_begun(study_, states);
  if (runs_in_rounds(study_, options_)) check_next_round(study_, store, options_, diff);
  std::vector<AttemptKey> repeated;
  if (options_.again) repeated = attempts_to_repeat(study_, states, diff);
  require_ready(study_, diff, attempts_to_retry(states, study_.selected(), options_.retry), options_);
  ProcessToolRunner tools;
  const BlockTimes times = find_block_times(study_.experiment, study_.selected(), store, tools);
  check_longest_jobs(study_.experiment, study_.selected(), times);
  return repeated;
}

StudyRun::StudyRun(const Study& study, const RunOptions& options, Call& call)
    : study_(study), options_(options), call_(call), end_request_(read_end_request(study.results)) {}

void StudyRun::check_new() const {
  if (fs::exists(study_.results)) return;
  PlanDiff diff = compare_with_index(study_, {});
  require_startable(Store::open(":memory:"), {}, diff);
}

Pace StudyRun::begin() {
  if (!following_) {
    make_folders(study_.results_root, kUserFolder);  // where others may have studies, too
    make_folders(study_.results);
    open_study_log(study_.results);
    following_.emplace(study_);
  }
  lock_ = following_->try_lock();
  if (lock_ && !is_cancelled()) {
    following_.reset();
    return announce_runs();
  }
  if (is_cancelled()) return end_cancelled();
  if (interrupted() == 0) return Pace::wait;
  say("no longer following; it continues there");
  return end(128 + interrupted());
}

/// Reads what is on record, checks that the study can start, and says what is about to happen.
Pace StudyRun::announce_runs() {
  if (!call_.store) call_.store.emplace(open_index(study_.results_root));
  Store& store = *call_.store;
  states_ = refresh_index(store, study_);
  PlanDiff diff = compare_with_index(study_, states_);
  repeated_ = require_startable(store, states_, diff);
  note_changed_program(study_, store);
  const std::vector<AttemptKey> retried = attempts_to_retry(states_, study_.selected(), options_.retry);
  watch_.limits = failure_limits(study_, diff, states_, retried, options_);
  OutcomeCounts counts = count_outcomes(counting_states(states_), study_.selected());
  if (options_.again) counts = {.asked = counts.asked + counts.set_aside};
  if (!announce(study_, diff, counts, options_)) return end(0);
  if (runs_in_rounds(study_, options_)) counts.asked = counts.ended + diff.total.fresh;  // to the next look
  call_.progress.count(study_.experiment.name, counts);
  if (const std::string why = why_none_to_retry(states_, study_, options_.retry); !why.empty()) say(why);
  return Pace::again;
}

/// Whether `hpcbench cancel` asked for the end of the study during this call.
bool StudyRun::is_cancelled() {
  if (call_.cancelled.contains(study_.experiment.name)) return true;
  if (read_end_request(study_.results) == end_request_) return false;
  call_.cancelled.insert(study_.experiment.name);
  return true;
}

/// After `hpcbench cancel`: says what that leaves.
Pace StudyRun::end_cancelled() {
  stopped_ = true;
  if (!call_.store) call_.store.emplace(open_index(study_.results_root));
  const OutcomeCounts counts = count_outcomes(counting_states(call_.store->states(study_.experiment.name)), study_.selected());
  const std::string command = study_.command(counts.cancelled == 0 ? "run" : "retry");
  say(fmt::format("ended by `hpcbench cancel`: {}",
                  counts.not_carried_out() == 0
                      ? "all runs had ended"
                      : fmt::format("{} of {} runs were not carried out; `{}` carries them out{}", counts.not_carried_out(),
                                    counts.asked, command, except_unprepared(study_))));
  if (rounds_) summarise();
  return end(1);
}

Pace StudyRun::step() {
  const bool cancelled = is_cancelled();
  if (!round_ && cancelled) return end_cancelled();
  if (!round_) return begin_round();
  const Pace pace = round_->step();
  return pace == Pace::ended ? end_round() : pace;
}

Pace StudyRun::begin_round() {
  if (!rounds_) {
    set_finished_aside();
    rounds_ = std::make_unique<RoundQueue>(study_, options_, *call_.store, call_.budget);
    remember(study_);
  }
  std::optional<Round> round = stopped_ ? std::nullopt : rounds_->next();
  if (rounds_->waits()) return Pace::wait;
  if (!round || stops_between()) {
    stopped_ = stopped_ || round.has_value();
    return end(summarise());
  }
  rounds_->begin(*round);
  round_ = std::make_unique<RoundRun>(study_, options_, std::move(*round), std::move(states_), *rounds_, watch_, call_);
  return Pace::again;
}

/// The runs that `--again` measures again.
void StudyRun::set_finished_aside() {
  if (repeated_.empty()) return;
  set_aside(*call_.store, study_.results, study_.experiment.name, repeated_, kMeasuredAgain, true);
  states_ = refresh_index(*call_.store, study_);
  long long runs = 0;
  for (auto key = repeated_.begin(); key != repeated_.end(); ++key) {  // the attempts of a run stand together
    const bool same = key != repeated_.begin() && (key - 1)->config_id == key->config_id && (key - 1)->run == key->run;
    runs += same ? 0 : 1;
  }
  say(fmt::format("{0} set aside; `hpcbench compare {1}@aside {1}{2}` compares them with the new runs",
                  counted(runs, "run is", "runs are"), shell_quote(study_.experiment.name), study_.in_results));
}

Pace StudyRun::end_round() {
  anything_ = anything_ || round_->has_done_anything();
  switch (round_->ending()) {
    case RoundRun::Ending::interrupted:
      return end(128 + interrupted());
    case RoundRun::Ending::cancelled:
      return end_cancelled();
    case RoundRun::Ending::detached:
      return end(any_failed_preparation(study_, round_->plan()) ? 1 : 0);
    case RoundRun::Ending::stopped:
      stopped_ = true;
      break;
    case RoundRun::Ending::finished:
      break;
  }
  round_.reset();
  if (rounds_->is_adaptive()) {
    states_ = refresh_index(*call_.store, study_);
    rounds_->note_end(*call_.store);
  }
  return Pace::again;
}

/// Whether the runs of the rounds so far say that more would only fail again.
bool StudyRun::stops_between() const {
  const std::optional<std::string> why = watch_.reason_to_stop();
  if (why) say(stopped_text(study_, *why, "No more begin"));
  return why.has_value();
}

/// Says how the study stands. Returns the exit code.
int StudyRun::summarise() const {
  for (const std::string& line : watch_.failures.repeated()) say(line);
  const std::vector<AttemptState> runs = counting_states(call_.store->states(study_.experiment.name));
  write_index_file(runs, study_);
  OutcomeCounts counts = count_outcomes(runs, study_.selected());
  // An adaptive study asks for the runs up to where it has come.
  if (rounds_->is_adaptive()) counts.asked = counts.ended;
  if (!anything_ && counts.ended == counts.asked && counts.asked > 0) {
    say(fmt::format(
        "nothing to do: all {} runs have an outcome{}; nothing was run again", counts.asked,
        counts.set_aside == 0 ? "" : fmt::format(", and {} set aside", counted(counts.set_aside, "run is", "runs are"))));
  }
  for (const std::string& line : not_begun_lines(study_, runs)) say(line);
  for (const std::string& line : rounds_lines(study_, rounds_->view())) say(line);
  const int code = say_totals(study_, counts, stopped_);
  const bool failed_again =
      !options_.prepare_again.empty() && any_failed_preparation(study_, study_.selected(), options_.prepare_again);
  return stopped_ || failed_again ? 1 : code;
}

Pace StudyRun::end(int code) {
  code_ = code;
  round_.reset();
  rounds_.reset();
  lock_.reset();
  return Pace::ended;
}

}  // namespace hpcbench
