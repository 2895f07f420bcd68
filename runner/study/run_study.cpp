#include "study/run_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/interrupt.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "plan/select.hpp"
#include "study/accounting.hpp"
#include "study/executors.hpp"
#include "study/failure_watch.hpp"
#include "study/index.hpp"
#include "study/index_file.hpp"
#include "study/index_writer.hpp"
#include "study/preflight.hpp"
#include "study/preparing.hpp"
#include "study/study_log.hpp"
#include "study/watch_ends.hpp"
#include "submit/experiment_lock.hpp"
#include "submit/judge.hpp"

namespace hpcbench {

namespace fs = std::filesystem;

namespace {

constexpr double kFollowInterval = 1;  // seconds between looks at a campaign of another process
constexpr double kStepWait = 1;        // seconds that a round waits at most when nothing happens

struct OutcomeCounts {
  long long asked = 0;
  long long ended = 0;
  long long succeeded = 0;
};

bool is_asked(const Study& study, const AttemptKey& key) {
  return key.run.is_repeat() && key.run.number <= study.selected().repeats && study.selected().find(key.config_id).has_value();
}

/// Of those runs (counting_states) that are asked for.
OutcomeCounts count_outcomes(const std::vector<AttemptState>& runs, const Study& study) {
  OutcomeCounts counts;
  counts.asked = static_cast<long long>(study.selected().configurations.size()) * study.selected().repeats;
  for (const AttemptState& run : runs) {
    if (!is_asked(study, run.key)) continue;
    if (is_outcome(run.state)) ++counts.ended;
    if (run.state == State::succeeded) ++counts.succeeded;
  }
  return counts;
}

/// `stopped`: what to do has been said.
int summarise_study(const Store& store, const Study& study, bool anything_done, bool stopped) {
  const std::vector<AttemptState> runs = counting_states(store.states(study.experiment.name));
  write_index_file(runs, study);
  const OutcomeCounts counts = count_outcomes(runs, study);
  if (!anything_done && counts.ended == counts.asked)
    say(fmt::format("nothing to do: all {} runs have an outcome; nothing was run again", counts.asked));
  for (const std::string& line : not_begun_lines(study, runs)) say(line);
  if (counts.succeeded == 0 && counts.ended > 0) {
    say(fmt::format("none of {} runs succeeded{}", counts.asked,
                    stopped ? "" : ": `hpcbench status` says why; once the cause is mended, `hpcbench retry` runs them again"));
    return 1;
  }
  const long long missed = counts.ended - counts.succeeded;
  say(fmt::format("{} of {} runs succeeded{}. Next: hpcbench report --format markdown", counts.succeeded, counts.asked,
                  missed > 0 ? fmt::format(", {} did not (hpcbench status; hpcbench retry runs them again)", missed) : ""));
  return counts.succeeded == counts.asked ? 0 : 1;
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

/// Says what is about to happen, and asks where it is much.
bool announce(const Study& study, const PlanDiff& diff, const OutcomeCounts& counts, const RunOptions& options) {
  const std::optional<double> hours = gpu_hours(study.selected());
  say(fmt::format("{}: {} x {}: {} done, {} to run{}{}", study.experiment.name,
                  counted(static_cast<long long>(study.selected().configurations.size()), "configuration", "configurations"),
                  counted(study.selected().repeats, "repeat", "repeats"), counts.ended, counts.asked - counts.ended,
                  diff.total.orphaned > 0 ? fmt::format("; {} no longer asked for", diff.total.orphaned) : "",
                  hours ? fmt::format("; at most {:.3g} GPU-hours in all", *hours) : ""));
  for (const std::string& note : study.selected().notes) say("note: " + note);
  const std::optional<double> limit = study.experiment.limits.gpu_hours;
  if (diff.total.fresh == 0 || !limit || (hours && *hours <= *limit)) return true;
  const std::string amount = hours ? fmt::format("{:.3g} GPU-hours", *hours) : "runs without a time limit";
  return confirm(fmt::format("This asks for {}; the limit is {:.3g} GPU-hours. Go on?", amount, *limit), options.yes);
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

/// Tells how long runs took in earlier calls, and which are to be made now.
void expect_runs(RemainingTime& remaining, const Study& study, const Store& store, const std::vector<AttemptState>& states,
                 const std::vector<AttemptKey>& retried) {
  std::unordered_map<std::string, long long> ended;
  for (const AttemptState& run : counting_states(states))
    ended[run.key.config_id] += is_outcome(run.state) && is_asked(study, run.key);
  for (const AttemptKey& key : retried) --ended[key.config_id];
  for (const Configuration& configuration : study.selected().configurations) {
    const auto found = ended.find(configuration.id);
    remaining.expect(configuration.id, study.selected().repeats - (found == ended.end() ? 0 : found->second));
  }
  for (const auto& [id, mean_s] : store.mean_wall_times(study.experiment.name)) {
    if (study.plan.find(id)) remaining.know(id, mean_s);
  }
  remaining.begin();
}

/// What a campaign of another process gets done, as the index shows it.
class EndsOfOthers {
 public:
  explicit EndsOfOthers(const Study& study) : study_(study) {}

  void look(const Store& store, const std::vector<AttemptState>& runs, RemainingTime& remaining) {
    std::vector<AttemptKey> ended;
    for (const AttemptState& run : runs) {
      if (is_outcome(run.state) && is_asked(study_, run.key)) ended.push_back(run.key);
    }
    if (!begun_) {
      expect_runs(remaining, study_, store, runs, {});
    } else {
      std::vector<AttemptKey> fresh;
      std::set_difference(ended.begin(), ended.end(), ended_.begin(), ended_.end(), std::back_inserter(fresh));
      for (const AttemptKey& key : fresh) remaining.note_end(key.config_id, std::nullopt);
    }
    begun_ = true;
    ended_ = std::move(ended);
  }

 private:
  const Study& study_;
  bool begun_ = false;
  std::vector<AttemptKey> ended_;  // sorted
};

/// Waits until no other process owns the experiment; shows how it goes there. Absent when we were interrupted.
std::optional<ExperimentLock> own_or_follow(const Study& study) {
  std::string owner;
  std::optional<ExperimentLock> lock = ExperimentLock::try_acquire(study.results, &owner);
  if (lock) return lock;
  say(fmt::format("{} is run by {}; following it. Ctrl-C leaves it alone.", study.experiment.name, owner));
  Progress progress(system_clock());
  EndsOfOthers ends(study);
  while (!lock && interrupted() == 0) {
    system_clock().sleep(kFollowInterval);
    lock = ExperimentLock::try_acquire(study.results, &owner);
    if (const std::optional<Store> store = Store::open_readonly(study.database())) {
      const std::vector<AttemptState> runs = counting_states(store->states(study.experiment.name));
      ends.look(*store, runs, progress.remaining());
      const OutcomeCounts counts = count_outcomes(runs, study);
      progress.show({counts.asked, counts.ended, counts.succeeded, 0});
    }
  }
  progress.finish();
  if (!lock) say("no longer following; it goes on");
  return lock;
}

std::vector<KnownAttempt> known_attempts(const std::vector<AttemptState>& states) {
  std::vector<KnownAttempt> known;
  known.reserve(states.size());
  for (const AttemptState& state : states) known.push_back({state.key, state.state});
  return known;
}

std::vector<AttemptKey> attempts_to_retry(const std::vector<AttemptState>& states, const Study& study,
                                          const std::vector<State>& outcomes) {
  std::vector<AttemptKey> keys;
  if (outcomes.empty()) return keys;
  for (const AttemptState& run : counting_states(states)) {
    const bool wanted = std::find(outcomes.begin(), outcomes.end(), run.state) != outcomes.end();
    if (wanted && is_asked(study, run.key)) keys.push_back(run.key);
  }
  return keys;
}

FailureLimits failure_limits(const Study& study, const PlanDiff& diff, const std::vector<AttemptState>& states,
                             const std::vector<AttemptKey>& retried, const RunOptions& options) {
  FailureLimits limits{options.keep_going, options.max_failures, {}, false};
  for (std::size_t i = 0; i < diff.rows.size(); ++i) {
    if (diff.rows[i].fresh > 0) limits.to_run.insert(study.selected().configurations[i].id);
  }
  for (const AttemptKey& key : retried) limits.to_run.insert(key.config_id);
  for (const AttemptState& run : counting_states(states)) {
    limits.any_succeeded = limits.any_succeeded || (run.state == State::succeeded && is_asked(study, run.key));
  }
  return limits;
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

/// Of the plan what can be run: all but the open configurations whose preparations failed.
Plan without_obstacles(const Study& study, const std::vector<std::size_t>& open) {
  const PreparationView view(study);
  std::vector<bool> kept(study.selected().configurations.size(), true);
  for (const std::size_t i : open) kept[i] = view.obstacle(study.selected().configurations[i]).empty();
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) indices.push_back(i);
  }
  return keep_configurations(study.selected(), indices);
}

/// Ends what runs and revokes what waits, since it would only fail, too.
void stop_early(const Study& study, const Dispatcher& dispatcher, Executor& executor, IndexWriter& index_writer,
                Progress& progress, const std::string& why) {
  std::vector<KnownAttempt> active;
  for (const AttemptKey& key : dispatcher.running()) active.push_back({key, State::submitted});
  index_writer.expect_cancels();
  progress.finish();
  const CancelCounts cancelled = cancel_attempts(study.results, active, executor, index_writer);
  watch_ends(study, cancelled.asked, executor, index_writer);
  index_writer.flush(true);
  const DispatchCounts counts = dispatcher.counts();
  say(
      fmt::format("stopped: {}. {} of {} runs were not carried out. Mend the cause, then `hpcbench retry` runs them all; "
                  "--keep-going runs them in any case",
                  why, counts.total - counts.done, counts.total));
}

/// How many jobs go on without us, and what is left for another call.
void say_detached(const Dispatcher& dispatcher, Executor& executor, Progress& progress) {
  progress.finish();
  const DispatchCounts counts = dispatcher.counts();
  const long long not_begun = counts.total - counts.done - counts.running;
  const std::string waiting = executor.waiting();
  std::string text = counts.running == 0 ? "nothing runs" : counted(counts.running, "job goes on", "jobs go on");
  if (counts.running > 0 && !waiting.empty()) text += fmt::format(" ({})", waiting);
  text += not_begun == 0 ? ""
                         : fmt::format(", {} not {}", counted(not_begun, "run has", "runs have"),
                                       executor.runs_here() ? "begun" : "been submitted");
  say(fmt::format("detached: {}. `hpcbench run` carries on{}.", text,
                  counts.running > 0 ? ", `hpcbench cancel` ends what runs" : ""));
}

enum class Ending { finished, stopped, interrupted, detached };

/// Submits and settles until every run has an outcome, or until somebody or something ends this call before that.
Ending carry_out(const Study& study, const RunOptions& options, const FailureLimits& limits, Dispatcher& dispatcher,
                 Executor& executor, IndexWriter& index_writer, Progress& progress) {
  while (dispatcher.step()) {
    progress.show(dispatcher.counts(), executor.waiting());
    index_writer.flush(false);
    const bool all_handed_over = options.detach && dispatcher.all_submitted();
    if (interrupted() != 0 || all_handed_over) {
      const Ending ending = interrupted() != 0 ? Ending::interrupted : Ending::detached;
      index_writer.flush(true);
      say_detached(dispatcher, executor, progress);
      return ending;
    }
    std::optional<std::string> why = executor.broken();
    if (!why) why = index_writer.failures().reason_to_stop(limits);
    if (why) {
      stop_early(study, dispatcher, executor, index_writer, progress, *why);
      return Ending::stopped;
    }
    executor.wait(kStepWait);
  }
  return Ending::finished;
}

}  // namespace

RenderContext make_render_context(const Study& study) {
  RenderContext context;
  context.results = study.results;
  context.call_folder = fs::current_path().string();
  context.trainer = program_folder() + "/hpcbench-train";
  context.hpcbench = study.experiment.site.hpcbench.value_or(program_folder() + "/hpcbench");
  context.executor = study.experiment.executor;
  const bool slurm = context.executor == "slurm";
  context.job_template_name = study.experiment.site.template_path.value_or("job.sh.mustache");
  context.job_template = load_template(context.job_template_name);
  if (slurm) context.array_template = load_template("slurm_array.sh.mustache");
  context.provenance = find_provenance(context.call_folder);
  if (study.experiment.is_trainer() && ::access(context.trainer.c_str(), X_OK) != 0) {
    throw UnavailableError(
        fmt::format("error: {} is not there: build it with scripts/setup.sh (without --runner-only)", context.trainer));
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

int run_study(const Study& study, const RunOptions& options) {
  require_program(study);
  check_study(study);
  if (options.detach && study.experiment.executor == "local") {
    throw InputError(
        "error: --detach needs the executor slurm: local jobs are started by `hpcbench run` itself; "
        "use `nohup hpcbench run ... &`");
  }
  catch_interrupts();
  make_folders(study.results);
  open_study_log(study.results);
  const std::optional<ExperimentLock> lock = own_or_follow(study);
  if (!lock) return 128 + interrupted();

  Store store = open_index(study.results_root);
  const std::vector<AttemptState> states = refresh_index(store, study);
  if (!options.retry.empty()) require_begun(study, states);
  const PlanDiff diff = compare_with_index(study, states);
  const std::vector<AttemptKey> retried = attempts_to_retry(states, study, options.retry);
  require_ready(study, diff, retried, options);
  if (!announce(study, diff, count_outcomes(counting_states(states), study), options)) return 0;
  remember(study);

  if (!options.retry.empty()) say(fmt::format("{} run{} again", retried.size(), retried.size() == 1 ? " runs" : "s run"));

  RenderContext context = make_render_context(study);
  const std::vector<std::size_t> open = open_configurations(study, states, retried);
  if (!make_preparations(study, open, {options.prepare_again}, context)) return 128 + interrupted();
  const Plan runnable = study.selected().prepared.empty() ? study.selected() : without_obstacles(study, open);

  Clock& clock = system_clock();
  Progress progress(clock, study.experiment.executor == "local" ? std::optional(options.slots) : std::nullopt);
  const std::unique_ptr<Executor> executor =
      choose_executor(study, options.slots, [&progress](const std::string& text) { progress.print(text); });
  IndexWriter index_writer(store, study.experiment.name, study.results, progress, clock);
  Dispatcher dispatcher(study.experiment, runnable, std::move(context), *executor, clock, index_writer);
  dispatcher.recover(known_attempts(states));
  dispatcher.retry(retried);
  index_writer.flush(true);
  ProcessToolRunner tools;
  Accounting accounting(study, tools, clock);
  accounting.catch_up(store);
  const FailureLimits limits = failure_limits(study, diff, states, retried, options);
  const bool anything = dispatcher.counts().done < dispatcher.counts().total;
  if (anything) {
    expect_runs(progress.remaining(), study, store, states, retried);
    progress.show(dispatcher.counts());
  }
  const Ending ending = carry_out(study, options, limits, dispatcher, *executor, index_writer, progress);
  if (ending == Ending::interrupted) return 128 + interrupted();
  if (ending == Ending::detached) return runnable.configurations.size() == study.selected().configurations.size() ? 0 : 1;
  executor->flush();
  index_writer.flush(true);
  index_writer.tell_repeated_failures();
  const bool stopped = ending == Ending::stopped;
  if (stopped) refresh_index(store, study.results_root, study.experiment.name);
  accounting.complete(store);
  progress.finish();
  return summarise_study(store, study, anything, stopped);
}

}  // namespace hpcbench
