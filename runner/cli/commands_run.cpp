#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/host.hpp"
#include "base/interrupt.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/study_options.hpp"
#include "launch/launch.hpp"
#include "launch/rank.hpp"
#include "study/executors.hpp"
#include "study/follow.hpp"
#include "study/index.hpp"
#include "study/listeners.hpp"
#include "study/preparing.hpp"
#include "study/progress.hpp"
#include "study/run_study.hpp"
#include "study/status_view.hpp"
#include "study/study_log.hpp"
#include "study/watch_ends.hpp"
#include "submit/cancel_notice.hpp"
#include "submit/continuation.hpp"
#include "submit/dispatcher.hpp"
#include "submit/experiment_lock.hpp"
#include "submit/next_attempt.hpp"

namespace hpcbench {

namespace {

const std::vector<State> kNotSucceeded = {State::failed,       State::timeout,   State::out_of_memory, State::cancelled,
                                          State::node_failure, State::preempted, State::lost};

void add_run_options(commandline::Command& command, RunOptions& options) {
  command.add_flag("--yes", options.yes, "do not ask");
  command.add_flag("--detach", options.detach, "end once all jobs are submitted (Slurm); `hpcbench run` carries on");
  command.add_option("--slots", options.slots, "local jobs at once; more than one disturbs measurements").at_least(1);
  command.add_flag("--keep-going", options.keep_going,
                   "go on where something is missing or every configuration fails in the same way");
  command.add_flag("--simulate-nodes", options.simulate_nodes,
                   "run configurations of several nodes on this machine; tables and plots say so");
  command.add_option("--max-failures", options.max_failures, "stop when this many runs have failed")
      .value_name("N")
      .at_least(1);
}

std::vector<std::string> retried_outcomes() {
  std::vector<std::string> names;
  for (const State state : kNotSucceeded) names.emplace_back(to_string(state));
  return names;
}

std::vector<State> parse_outcomes(const std::string& text) {
  if (text.empty()) return kNotSucceeded;
  std::vector<State> outcomes;
  const std::vector<std::string> names = retried_outcomes();
  for (const std::string& name : split(text, ',')) {
    const std::optional<State> state = parse_state(name);
    if (!state || std::find(names.begin(), names.end(), name) == names.end()) {
      throw InputError(fmt::format("error: `{}` is no outcome that can be retried{}; there are: {}", name,
                                   did_you_mean(name, names), join(names, ", ")));
    }
    outcomes.push_back(*state);
  }
  return outcomes;
}

/// `20 gpu-hours`, or `20 node-hours`: in the unit of the study.
double parse_at_most(const Study& study, const std::string& text) {
  const std::string_view trimmed = trim(text);
  const std::size_t space = trimmed.find(' ');
  const std::optional<double> hours = Value::from_plain(trimmed.substr(0, space)).number();
  const std::string_view said = space == std::string_view::npos ? std::string_view() : trim(trimmed.substr(space));
  const bool in_gpus = said == word_of(CostUnit::gpu_hours);
  if (!(in_gpus || said == word_of(CostUnit::node_hours)) || !hours || !(*hours > 0)) {
    throw InputError(
        fmt::format("error: --at-most `{}` is no amount: write --at-most \"20 {}\"", text, word_of(study.plan.cost_unit)));
  }
  if (in_gpus != (study.plan.cost_unit == CostUnit::gpu_hours)) {
    throw InputError(fmt::format("error: --at-most `{}`: the cost of {} is counted in {}, {}", text, study.experiment.path,
                                 to_string(study.plan.cost_unit),
                                 study.experiment.budget ? "as in its `budget`"
                                 : in_gpus               ? "since none of its runs has a GPU"
                                                         : "unless it has `budget: {node_hours: ...}`"));
  }
  if (study.experiment.order == Order::sequential) {
    throw InputError(fmt::format(
        "error: --at-most begins whole blocks, one repeat of every configuration, and `order: sequential` in {} has none",
        study.experiment.path));
  }
  return *hours;
}

/// Runs that no process has submitted yet.
long long count_unsubmitted(const Study& study, const Store& store) {
  return make_status(study, store).counts.at(State::planned);
}

/// With --only the process that runs the study continues with other runs, and with those that it has not submitted yet.
void note_owner(const Study& study, const Store& store) {
  const std::optional<std::string> owner = experiment_owner(study.results);
  const long long unsubmitted = count_unsubmitted(study, store);
  if (!owner || unsubmitted == 0) return;
  say(fmt::format("note: {} runs the study and begins {} not submitted yet; without --only, `{}` ends it", *owner,
                  counted(unsubmitted, "run that is", "runs that are"), study.command("cancel")));
}

/// Waits until the process that ran the study has ended it, as it was asked to. False if it is not seen to.
bool await_owner(const Study& study, const std::string& owner, const Executor& executor) {
  constexpr double kPatienceS = 10;  // beyond that for its jobs
  constexpr double kInterval = 0.1;
  Clock& clock = system_clock();
  const double end_s = clock.monotonic_s() + executor.end_patience_s() + kPatienceS;
  while (experiment_owner(study.results) == owner) {
    if (interrupted() != 0 || clock.monotonic_s() > end_s) return false;
    clock.sleep(kInterval);
  }
  return true;
}

std::vector<AttemptKey> find_waiting(const Study& study, Store& store) {
  return segments_to_follow(study.experiment, study.selected(), study.results, refresh_index(store, study));
}

/// Stops the runs that wait between two segments. How many those were; none while a `run` goes on with them.
std::size_t end_waiting(const Study& study, Store& store, StudyListeners& listeners) {
  if (find_waiting(study, store).empty()) return 0;
  std::string owner;
  const std::optional<ExperimentLock> lock = ExperimentLock::try_acquire(study.results, &owner);
  const std::vector<AttemptKey> waiting = find_waiting(study, store);  // now no other process changes it
  const auto count = static_cast<long long>(waiting.size());
  if (!lock && count > 0) {
    say(fmt::format("note: {} still runs the study, with {}; interrupt it (Ctrl-C) and cancel again to stop those, too", owner,
                    counted(count, "run that is to be continued", "runs that are to be continued")));
  }
  if (!lock || count == 0) return 0;
  cancel_waiting(study.experiment, study.selected(), make_render_context(study), waiting, listeners.events);
  listeners.index.flush(true);
  return waiting.size();
}

/// Each file, with all mistakes of all of them; without one, what was run last.
std::vector<Study> load_studies(const StudyOptions& options, const std::vector<std::string>& files) {
  if (files.empty()) return {load_study(options)};
  std::vector<Study> studies;
  std::string problems;
  for (const std::string& file : files) {
    StudyOptions of_file = options;
    of_file.file = file;
    try {
      studies.push_back(load_study(of_file));
    } catch (const InputError& error) {
      problems += (problems.empty() ? "" : "\n") + std::string(error.what());
    }
  }
  if (!problems.empty()) throw InputError(problems);
  return studies;
}

std::vector<AttemptState> open_attempts(const Study& study, const std::vector<AttemptState>& states) {
  std::vector<AttemptState> open;
  for (const AttemptState& state : states) {
    if (!is_outcome(state.state) && study.selected().find(state.key.config_id)) open.push_back({state.key, state.state});
  }
  return open;
}

/// The numbers of what a cancel has ended so far.
struct Ended {
  long long running = 0, revoked = 0, between_segments = 0;
  bool all = true;  // what was asked to end has ended

  void add(const CancelCounts& counts, std::size_t left) {
    running += static_cast<long long>(counts.asked.size() - left);
    revoked += counts.revoked;
    all = all && left == 0 && counts.unseen == 0;
  }
};

/// Cancels these attempts, and asks the process that runs the study, if there is one, to end it: runs that it has not submitted
/// do not begin.
Ended end_all(const Study& study, Store& store, const std::vector<AttemptState>& open,
              const std::optional<std::string>& owner) {
  Progress progress(system_clock());
  const std::unique_ptr<Executor> executor =
      choose_executor(study, 1, [&progress](const std::string& text) { progress.print(text); });
  StudyWatch watch;
  StudyListeners listeners(store, study, progress, system_clock(), watch);
  Ended ended;
  const auto cancel = [&](const std::vector<AttemptState>& attempts) {
    const CancelCounts counts = cancel_attempts(study.results, attempts, *executor, listeners.events);
    if (owner) request_end(study.results);
    ended.add(counts, watch_ends(study, counts.asked, *executor, listeners.events));
    listeners.index.flush(true);
  };
  cancel(open);
  if (owner && !await_owner(study, *owner, *executor)) {
    ended.all = false;
    say(
        fmt::format("{} has not ended the study yet; it does once its present step is done. To end it at once, interrupt it "
                    "(Ctrl-C) and cancel again",
                    *owner));
  } else if (owner) {
    cancel(open_attempts(study, refresh_index(store, study)));  // what it began meanwhile
  }
  ended.between_segments = static_cast<long long>(end_waiting(study, store, listeners));
  return ended;
}

int cancel_study(const StudyOptions& options, bool yes) {
  const Study study = load_study(options);
  note_without_results(study);
  require_own(study);
  auto [store, states] = open_for_reading(study);  // a full disk is what some cancel for
  const std::vector<AttemptState> open = open_attempts(study, states);
  const auto preparations = static_cast<long long>(unfinished_preparations(study).size());
  const auto waiting = static_cast<long long>(find_waiting(study, store).size());
  const std::optional<std::string> owner = options.only.empty() ? experiment_owner(study.results) : std::nullopt;
  long long unsubmitted = owner ? count_unsubmitted(study, store) : 0;
  if (open.empty() && preparations == 0 && waiting == 0 && unsubmitted == 0) {
    say("nothing to cancel: no run has been submitted that has not ended");
    note_owner(study, store);
    return 0;
  }
  std::string more = preparations == 0 ? "" : fmt::format(" and {}", counted(preparations, "preparation", "preparations"));
  if (waiting > 0)
    more += fmt::format(" and {}", counted(waiting, "run that waits to be continued", "runs that wait to be continued"));
  if (unsubmitted > 0)
    more += fmt::format(" and {}", counted(unsubmitted, "run that has not begun", "runs that have not begun"));
  if (!confirm(fmt::format("Cancel {}{} of {}?", counted(static_cast<long long>(open.size()), "run", "runs"), more,
                           study.experiment.name),
               yes))
    return 0;
  catch_interrupts();
  open_study_log(study.results);
  const bool all_made_end = end_preparations(study);
  const Ended ended = end_all(study, store, open, owner);
  if (!options.only.empty()) note_owner(study, store);
  unsubmitted = owner && ended.all ? count_unsubmitted(study, store) : 0;
  std::string text = fmt::format("{} running ended, {} not begun revoked", ended.running, ended.revoked);
  if (ended.between_segments > 0) text += fmt::format(", {} waiting to be continued stopped", ended.between_segments);
  if (unsubmitted > 0) {
    text += fmt::format(", {} not submitted: `{}` begins them{}", unsubmitted, study.command("run"), except_unprepared(study));
  }
  if (ended.running + ended.revoked + ended.between_segments > 0)
    text += ". `hpcbench retry --outcome cancelled` runs again what was cancelled";
  say(text + ".");
  return ended.all && all_made_end ? 0 : 1;
}

}  // namespace

void add_run(commandline::Command& command) {
  const auto study = std::make_shared<StudyOptions>();
  const auto options = std::make_shared<RunOptions>();
  const auto files = std::make_shared<std::vector<std::string>>();
  add_study_options(command, *study, *files);
  command.add_option("--repeats", study->repeats, "repeats of each configuration instead of the file's").at_least(1);
  add_run_options(command, *options);
  const auto at_most = std::make_shared<std::string>();
  command.add_option("--at-most", *at_most, "begin no block that would make this call cost more, as in `20 gpu-hours`")
      .value_name("AMOUNT");
  command.add_flag("--again", options->again, "set the finished runs aside and measure them again");
  const auto dry = std::make_shared<bool>(false);
  command.add_flag("--dry-run", *dry, "list the runs that would be started, and start none");
  command.action([=] {
    std::vector<Study> loaded = load_studies(*study, *files);
    for (const Study& each : loaded) {
      if (!at_most->empty()) options->at_most_hours = parse_at_most(each, *at_most);
    }
    return *dry ? rehearse(loaded, *options) : run_studies(std::move(loaded), *options);
  });
}

void add_retry(commandline::Command& command) {
  const auto study = std::make_shared<StudyOptions>();
  const auto options = std::make_shared<RunOptions>();
  const auto outcomes = std::make_shared<std::string>();
  add_study_options(command, *study, FileArgument::optional);
  add_run_options(command, *options);
  command.add_option("--outcome", *outcomes, "only runs with these outcomes, as in `failed,timeout`")
      .value_name("OUTCOME")
      .not_empty()
      .parts_of(retried_outcomes());
  command
      .add_option("--prepare", options->prepare_again,
                  "make this preparation again where it failed or its inputs changed, then go on as `run`")
      .value_name("NAME");
  command.action([=] {
    if (options->prepare_again.empty() || !outcomes->empty()) options->retry = parse_outcomes(*outcomes);
    const Study loaded = load_study(*study);
    if (!options->prepare_again.empty()) require_preparation(loaded, options->prepare_again);
    return run_studies({loaded}, *options);
  });
}

void add_cancel(commandline::Command& command) {
  const auto study = std::make_shared<StudyOptions>();
  const auto yes = std::make_shared<bool>(false);
  add_study_options(command, *study, FileArgument::optional);
  command.add_flag("--yes", *yes, "do not ask");
  command.action([=] { return cancel_study(*study, *yes); });
}

void add_launch(commandline::Command& command) {
  const auto ranks = std::make_shared<int>(0);
  const auto job = std::make_shared<std::string>();
  const auto batch = std::make_shared<std::string>();
  const auto block = std::make_shared<std::string>();
  const auto arguments = std::make_shared<std::vector<std::string>>();
  command.add_option("-n", *ranks, "start this many ranks of COMMAND here").value_name("N").at_least(1);
  command.add_option("--job", *job, "the attempts of this element of a job array, of the batch in this folder")
      .value_name("FOLDER");
  command.add_option("--batch", *batch, "as --job, in scripts of earlier versions").value_name("FOLDER");
  command.add_option("--block", *block, "as --job, in scripts of earlier versions").value_name("FOLDER");
  command.add_option("ARGUMENTS", *arguments, "the attempt's folder; with -n: the command after `--`");
  command.action([=] {
    const char* const given = std::getenv("HPCBENCH_HASH");
    const std::string hash = given == nullptr ? "" : given;
    ::unsetenv("HPCBENCH_HASH");  // for us alone
    if (*ranks > 0) return launch_ranks(*ranks, *arguments);
    const std::string& folder = !job->empty() ? *job : !batch->empty() ? *batch : *block;
    if (!folder.empty() && arguments->empty()) return launch_job(folder, hash);
    if (arguments->size() != 1 || !folder.empty())
      throw InputError("error: launch takes one attempt folder, `--job FOLDER`, or `-n N -- COMMAND`");
    const char* token = std::getenv("HPCBENCH_TOKEN");
    return launch_attempt(arguments->front(), token == nullptr ? "" : token, hash);
  });
}

}  // namespace hpcbench
