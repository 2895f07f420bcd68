#include "study/run_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <unordered_map>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/interrupt.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "render/blocks.hpp"
#include "study/accounting.hpp"
#include "study/blocks/find_block_times.hpp"
#include "study/call.hpp"
#include "study/executors.hpp"
#include "study/failure_watch.hpp"
#include "study/follow.hpp"
#include "study/index.hpp"
#include "study/index_writer.hpp"
#include "study/kept/changed_program.hpp"
#include "study/kept/set_aside.hpp"
#include "study/preflight.hpp"
#include "study/preparing.hpp"
#include "study/rounds.hpp"
#include "study/study_log.hpp"
#include "study/watch_ends.hpp"
#include "submit/judge.hpp"

namespace hpcbench {

namespace fs = std::filesystem;

namespace {

/// `stopped`: what to do has been said.
int summarise_study(const Store& store, const Study& study, bool anything_done, bool stopped) {
  const std::vector<AttemptState> runs = counting_states(store.states(study.experiment.name));
  write_index_file(runs, study);
  const OutcomeCounts counts = count_outcomes(runs, study);
  if (!anything_done && counts.ended == counts.asked) {
    say(fmt::format(
        "nothing to do: all {} runs have an outcome{}; nothing was run again", counts.asked,
        counts.set_aside == 0 ? "" : fmt::format(", and {} set aside", counted(counts.set_aside, "run is", "runs are"))));
  }
  for (const std::string& line : not_begun_lines(study, runs)) say(line);
  return say_totals(study, {counts.succeeded, counts.ended, counts.asked}, stopped);
}

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
  // The file last: whoever reads it finds what it uses.
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
    return run.state == State::succeeded && run.standing == Standing::normal && is_asked(study, run.key);
  });
}

FailureLimits failure_limits(const Study& study, const PlanDiff& diff, const std::vector<AttemptState>& states,
                             const std::vector<AttemptKey>& retried, const RunOptions& options) {
  FailureLimits limits{options.keep_going, options.max_failures, {}, any_succeeded(study, states)};
  for (std::size_t i = 0; i < diff.rows.size(); ++i) {
    if (diff.rows[i].fresh > 0) limits.to_run.insert(study.selected().configurations[i].id);
  }
  for (const AttemptKey& key : retried) limits.to_run.insert(key.config_id);
  return limits;
}

bool any_unfinished(const std::vector<AttemptState>& states) {
  return std::any_of(states.begin(), states.end(), [](const AttemptState& attempt) { return !is_outcome(attempt.state); });
}

/// Configurations some of whose runs are to begin, or go on.
std::vector<std::size_t> open_configurations(const Study& study, const std::vector<AttemptState>& states,
                                             const std::vector<AttemptKey>& retried) {
  std::unordered_map<std::string, long long> ended;
  for (const AttemptState& run : counting_states(states))
    ended[run.key.config_id] += is_outcome(run.state) && is_asked(study, run.key);
  for (const AttemptKey& key : retried) ended[key.config_id] = 0;
  std::vector<std::size_t> open;
  const std::vector<Configuration>& all = study.selected().configurations;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (ended[all[i].id] < study.selected().repeats) open.push_back(i);
  }
  return open;
}

/// Ends what runs and revokes what waits, since it would only fail, too.
void stop_early(const Study& study, const Dispatcher& dispatcher, Executor& executor, IndexWriter& index_writer,
                Progress& progress, const std::string& why) {
  std::vector<AttemptState> active;
  for (const AttemptKey& key : dispatcher.running()) active.push_back({key, State::submitted});
  index_writer.expect_cancels();
  progress.finish();
  const CancelCounts cancelled = cancel_attempts(study.results, active, executor, index_writer);
  watch_ends(study, cancelled.asked, executor, index_writer);
  index_writer.flush(true);
  const DispatchCounts counts = dispatcher.counts();
  say(stopped_text(study, why, fmt::format("{} of {} runs were not carried out", counts.total - counts.done, counts.total)));
}

/// How many jobs go on without us, and what is left for another call.
void say_detached(const Study& study, const RunOptions& options, const Dispatcher& dispatcher, Executor& executor,
                  Progress& progress) {
  progress.finish();
  const DispatchCounts counts = dispatcher.counts();
  const long long not_begun = counts.total - counts.done - counts.running;
  const std::string waiting = executor.waiting();
  const bool blocks = study.experiment.in_blocks();  // of many runs a job
  const std::string going_on =
      counted(counts.running, blocks ? "run goes on" : "job goes on", blocks ? "runs go on" : "jobs go on");
  std::string text = counts.running == 0 ? "nothing runs" : going_on;
  if (counts.running > 0 && !waiting.empty()) text += fmt::format(" ({})", waiting);
  text += not_begun == 0 ? ""
                         : fmt::format(", {} not {}", counted(not_begun, "run has", "runs have"),
                                       executor.runs_here() ? "begun" : "been submitted");
  say(fmt::format("detached: {}. `{}{}` carries on{}.", text, study.command("run"),
                  options.at_most_hours ? " --at-most ..." : "",  // counted anew by each call
                  counts.running > 0 ? fmt::format(", `{}` ends what runs", study.command("cancel")) : ""));
}

void show(const Study& study, const DispatchCounts& counts, const std::string& waiting, Progress& progress) {
  if (study.one_of_many) {
    progress.show_of(study.experiment.name, counts, waiting);
  } else {
    progress.show(counts, waiting);
  }
}

/// Whether one of several studies may begin runs: what an earlier call left running is counted, and nothing disturbs runs on
/// this machine, which need a free slot.
bool may_begin(const Study& study, const Dispatcher& dispatcher, Executor& executor, const Call& call) {
  if (!study.one_of_many) return true;
  if (!call.taking_over.empty()) return false;
  if (!executor.runs_here()) return true;
  return call.making_here.empty() && (dispatcher.counts().running > 0 || executor.free_slots() > 0);
}

enum class Ending { finished, stopped, interrupted, detached };

/// Submits and settles until every run has an outcome, or until somebody or something ends this call before that.
Steps<Ending> carry_out(const Study& study, const RunOptions& options, const StudyWatch& watch, Dispatcher& dispatcher,
                        Executor& executor, IndexWriter& index_writer, const Call& call) {
  Progress& progress = *call.progress;
  bool begun = false;
  while (true) {
    begun = begun || (interrupted() == 0 && may_begin(study, dispatcher, executor, call));
    if (begun && !dispatcher.step()) break;
    if (begun) show(study, dispatcher.counts(), executor.waiting(), progress);
    index_writer.flush(false);
    const bool all_handed_over = options.detach && dispatcher.all_submitted();
    if (interrupted() != 0 || all_handed_over) {
      const Ending ending = interrupted() != 0 ? Ending::interrupted : Ending::detached;
      index_writer.flush(true);
      say_detached(study, options, dispatcher, executor, progress);
      co_return ending;
    }
    std::optional<std::string> why = executor.broken();
    if (!why) why = watch.reason_to_stop();
    if (why) {
      stop_early(study, dispatcher, executor, index_writer, progress, *why);
      co_return Ending::stopped;
    }
    co_await Pause::look;
  }
  if (study.one_of_many) progress.count_of(study.experiment.name, dispatcher.counts());
  co_return Ending::finished;
}

struct Carried {
  Ending ending = Ending::finished;
  bool anything = false;  // there was something to do
};
/// The study, or with rounds a part of it, from the runs that are there, which `states` tells, to the last outcome, or until a
/// budget holds the rest.
Steps<Carried> carry_out_part(const Study& study, const RunOptions& options, const WhyHeld& why_held, Store& store,
                              const std::vector<AttemptState>& states, StudyWatch& watch, Call& call) {
  if (!call.shared) call.progress = nullptr;  // that of the part before is gone
  const std::vector<AttemptKey> retried = attempts_to_retry(states, study, options.retry);
  remember(study);

  if (!retried.empty()) say(fmt::format("{} again", counted(static_cast<long long>(retried.size()), "run runs", "runs run")));
  RenderContext context = make_render_context(study);
  ProcessToolRunner tools;
  context.block_times = find_block_times(study.experiment, study.selected(), store, tools);
  const std::vector<std::size_t> open = open_configurations(study, states, retried);
  std::optional<Listed> taking_over;
  if (any_unfinished(states)) taking_over.emplace(call.taking_over, study.experiment.name);
  const PreparationOptions of_preparations{options.prepare_again, options.detach};
  const bool go_on = co_await make_preparations(study, open, of_preparations, context, call);
  if (!go_on) co_return Carried{Ending::interrupted};
  const RunnablePart runnable = find_runnable(study, open, context);

  Clock& clock = system_clock();
  std::optional<Progress> own;  // of this part, where the call has one study
  if (!call.shared) {
    own.emplace(clock, study.experiment.executor == "local" ? std::optional(options.slots) : std::nullopt);
    call.progress = &*own;
  }
  Progress& progress = *call.progress;
  Executor* const executor = &call.executors.of(study);
  IndexWriter index_writer(store, study, progress, clock, watch);
  Dispatcher dispatcher(study.experiment, runnable.plan, std::move(context), *executor, clock, index_writer);
  if (why_held) dispatcher.hold_when([&] { return why_held(index_writer.settled_hours()); });
  if (call.prepared.contains(study.experiment.name)) dispatcher.skip_prepare();
  dispatcher.recover(states);
  taking_over.reset();
  dispatcher.retry(retried);
  index_writer.flush(true);
  Accounting accounting(study, tools, clock);
  accounting.catch_up(store);
  Carried carried;
  carried.anything = dispatcher.counts().done < dispatcher.counts().total;
  if (carried.anything) {
    if (!study.one_of_many) progress.begin_round(study.round, study.round.empty() ? DispatchCounts{} : dispatcher.counts());
    expect_runs(progress.remaining(), study, store, states, retried);
    if (study.one_of_many) progress.count_of(study.experiment.name, dispatcher.counts());  // shown once all are counted
    if (!study.one_of_many) progress.show(dispatcher.counts());
  }
  // All studies take over what runs before any of them begins more.
  if (call.taken_over.insert(study.experiment.name).second) co_await Pause::turn;
  carried.ending = co_await carry_out(study, options, watch, dispatcher, *executor, index_writer, call);
  if (dispatcher.has_prepared()) call.prepared.insert(study.experiment.name);
  if (carried.ending == Ending::finished && runnable.awaits) carried.ending = Ending::detached;
  if (carried.ending == Ending::interrupted) co_return carried;
  executor->flush();
  index_writer.flush(true);
  if (carried.ending == Ending::detached) co_return carried;
  if (carried.ending == Ending::stopped) refresh_index(store, study.results_root, study.experiment.name);
  accounting.complete(store);
  progress.finish();
  co_return carried;
}

/// The exit code of a call that something ended before the study was done; absent: it was not.
std::optional<int> code_of_ending(const Study& study, const Carried& carried) {
  if (carried.ending == Ending::interrupted) return 128 + interrupted();
  if (carried.ending == Ending::detached) return any_failed_preparation(study) ? 1 : 0;
  return std::nullopt;
}

}  // namespace

std::string stopped_text(const Study& study, const std::string& why, const std::string& left) {
  return fmt::format("stopped: {}. {}. Mend the cause, then `{}` runs them all; --keep-going runs them in any case", why, left,
                     study.command("retry"));
}

int say_totals(const Study& study, const RunTotals& totals, bool stopped) {
  if (totals.asked == 0) {  // within a budget
    say("no run has ended");
    return 0;
  }
  if (totals.succeeded == 0 && totals.ended > 0) {
    say(fmt::format("none of {} runs succeeded{}", totals.asked,
                    stopped ? ""
                            : fmt::format(": `{}` says why; once the cause is mended, `{}` runs them again",
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

RenderContext make_render_context(const Study& study) {
  RenderContext context;
  context.results = study.results;
  context.call_folder = fs::current_path().string();
  context.trainer = trainer_program();
  context.hpcbench = study.experiment.site.hpcbench.value_or(program_folder() + "/hpcbench");
  context.executor = study.experiment.executor;
  const bool slurm = context.executor == "slurm";
  context.job_template_name = study.experiment.site.template_path.value_or("job.sh.mustache");
  context.job_template = load_template(context.job_template_name);
  if (slurm) context.array_template = load_template("slurm_array.sh.mustache");
  context.provenance = find_provenance(context.call_folder);
  context.omp_num_threads = own_thread_count();
  if (study.experiment.is_trainer() && ::access(context.trainer.c_str(), X_OK) != 0) {
    throw UnavailableError(
        fmt::format("error: {} is not there: `pip install 'hpcbench-runner[trainer]'` brings it, or scripts/setup.sh (without "
                    "--runner-only) builds it",
                    context.trainer));
  }
  return context;
}

void require_program(const Study& study) {
  if (study.experiment.runs_anything()) return;
  throw InputError(
      fmt::format("error: {}: there is nothing to run: it has neither `trainer` nor `command`\n  = `hpcbench report {}` "
                  "takes in what `import` names",
                  study.experiment.path, study.experiment.path));
}

namespace {

/// The finished attempts that `--again` sets aside, and what they change in the comparison of plan and record.
std::vector<AttemptKey> attempts_to_repeat(const Study& study, const std::vector<AttemptState>& states, PlanDiff& diff) {
  std::vector<AttemptKey> keys;
  for (const AttemptState& run : counting_states(states)) {
    if (!is_asked(study, run.key) || !is_outcome(run.state)) continue;
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

/// All that refuses a study, before anything of it begins. Counts in `diff` what the next round would begin, and what `--again`
/// repeats, which it returns.
std::vector<AttemptKey> require_startable(const Study& study, const RunOptions& options, const Store& store,
                                          const std::vector<AttemptState>& states, PlanDiff& diff) {
  if (!options.retry.empty()) require_begun(study, states);
  if (runs_in_rounds(study, options)) check_next_round(study, store, options, diff);
  std::vector<AttemptKey> repeated;
  if (options.again) repeated = attempts_to_repeat(study, states, diff);
  require_ready(study, diff, attempts_to_retry(states, study, options.retry), options);
  ProcessToolRunner tools;
  check_longest_jobs(study.experiment, study.selected(), find_block_times(study.experiment, study.selected(), store, tools));
  return repeated;
}

/// A study that is refused leaves no folder behind.
void require_new_startable(const Study& study, const RunOptions& options) {
  if (fs::exists(study.results)) return;
  PlanDiff diff = compare_with_index(study, {});
  require_startable(study, options, Store::open(":memory:"), {}, diff);
}

}  // namespace

Steps<int> run_study(const Study& study, const RunOptions& options, Call& call) {
  require_new_startable(study, options);
  co_await Pause::turn;                           // no study leaves a folder where another one is refused
  make_folders(study.results_root, kUserFolder);  // where others may have studies, too
  make_folders(study.results);
  open_study_log(study.results);
  const std::optional<ExperimentLock> lock = co_await own_or_follow(study);
  if (!lock) co_return 128 + interrupted();

  if (!call.store) call.store.emplace(open_index(study.results_root));
  Store& store = *call.store;
  std::vector<AttemptState> states = refresh_index(store, study);
  PlanDiff diff = compare_with_index(study, states);
  const std::vector<AttemptKey> repeated = require_startable(study, options, store, states, diff);
  note_changed_program(study, store);
  const bool rounds = runs_in_rounds(study, options);
  const std::vector<AttemptKey> retried = attempts_to_retry(states, study, options.retry);
  StudyWatch watch;
  watch.limits = failure_limits(study, diff, states, retried, options);
  OutcomeCounts counts = count_outcomes(counting_states(states), study);
  if (options.again) counts = {counts.asked + counts.set_aside, 0, 0, 0};
  if (!announce(study, diff, counts, options)) co_return 0;
  if (const std::string why = why_none_to_retry(states, study, options.retry); !why.empty()) say(why);
  co_await Pause::turn;  // nothing begins before every study is known to be ready
  if (!repeated.empty()) {
    set_aside(store, study.results, study.experiment.name, repeated, kMeasuredAgain, true);
    states = refresh_index(store, study);
    say(fmt::format("{0} set aside; `hpcbench compare {1}@aside {1}{2}` compares them with the new runs",
                    counted(static_cast<long long>(repeated.size()), "attempt is", "attempts are"),
                    shell_quote(study.experiment.name), study.in_results));
  }
  if (rounds) {
    const CarryOut carry_out_one = [&](const Study& part, const RunOptions& of_part,
                                       const WhyHeld& why_held) -> Steps<PartEnd> {
      const std::vector<AttemptState> now = refresh_index(store, part);
      watch.limits.any_succeeded = any_succeeded(study, now);
      const Carried carried = co_await carry_out_part(part, of_part, why_held, store, now, watch, call);
      const std::optional<int> code = code_of_ending(part, carried);
      co_return PartEnd{code, carried.ending == Ending::stopped};
    };
    co_return co_await run_rounds(study, options, store, call.budget, watch, carry_out_one);
  }
  // One look at the folders is enough: the lock was ours before it, so nobody else has begun a run since, and whatever had no
  // outcome then is judged by its files when it is taken over, as what ends while preparations are made.
  const Carried carried = co_await carry_out_part(study, options, {}, store, states, watch, call);
  if (const std::optional<int> code = code_of_ending(study, carried)) co_return *code;
  for (const std::string& line : watch.failures.repeated()) say(line);
  co_return summarise_study(store, study, carried.anything, carried.ending == Ending::stopped);
}

}  // namespace hpcbench
