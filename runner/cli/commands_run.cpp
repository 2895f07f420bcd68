#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
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
#include "study/executors.hpp"
#include "study/index.hpp"
#include "study/index_writer.hpp"
#include "study/preparing.hpp"
#include "study/progress.hpp"
#include "study/run_study.hpp"
#include "study/status_view.hpp"
#include "study/study_log.hpp"
#include "study/watch_ends.hpp"
#include "submit/dispatcher.hpp"
#include "submit/experiment_lock.hpp"

namespace hpcbench {

namespace {

const std::vector<State> kNotSucceeded = {State::failed,       State::timeout,   State::out_of_memory, State::cancelled,
                                          State::node_failure, State::preempted, State::lost};

void add_run_options(commandline::Command& command, RunOptions& options) {
  command.add_flag("--yes", options.yes, "do not ask");
  command.add_flag("--detach", options.detach, "end once all jobs are submitted (Slurm); `hpcbench run` carries on");
  command.add_option("--slots", options.slots, "local jobs at once; more than one disturbs measurements")
      .shows_initial()
      .positive();
  command.add_flag("--keep-going", options.keep_going,
                   "go on where something is missing or every configuration fails in the same way");
  command.add_flag("--simulate-nodes", options.simulate_nodes,
                   "run configurations of several nodes on this machine; tables and plots say so");
  command.add_option("--max-failures", options.max_failures, "stop when this many runs have failed").value_name("N").positive();
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

/// Who runs the study meanwhile, and what it goes on with.
void note_owner(const Study& study, const Store& store) {
  const std::optional<std::string> owner = experiment_owner(study.results);
  const StatusView view = make_status(study, store);
  const long long to_come = view.counts.at(State::planned);
  if (!owner || to_come == 0) return;
  say(fmt::format("note: {} goes on with {} not submitted yet; interrupt it (Ctrl-C) and cancel again to stop those, too",
                  *owner, counted(to_come, "run that is", "runs that are")));
}

int cancel_study(const StudyOptions& options, bool yes) {
  const Study study = load_study(options);
  Store store = open_index(study.results_root);
  std::vector<KnownAttempt> active;
  for (const AttemptState& state : refresh_index(store, study)) {
    if (!is_outcome(state.state) && study.selected().find(state.key.config_id)) active.push_back({state.key, state.state});
  }
  if (active.empty()) {
    say("nothing to cancel: no run has been submitted that has not ended");
    return 0;
  }
  if (!confirm(
          fmt::format("Cancel {} of {}?", counted(static_cast<long long>(active.size()), "run", "runs"), study.experiment.name),
          yes))
    return 0;
  catch_interrupts();
  open_study_log(study.results);
  Progress progress(system_clock());
  const std::unique_ptr<Executor> executor =
      choose_executor(study, 1, [&progress](const std::string& text) { progress.print(text); });
  IndexWriter index_writer(store, study.experiment.name, study.results, progress, system_clock());
  const CancelCounts counts = cancel_attempts(study.results, active, *executor, index_writer);
  const std::size_t left = watch_ends(study, counts.asked, *executor, index_writer);
  index_writer.flush(true);
  note_owner(study, store);
  say(fmt::format("{} running ended, {} not begun revoked. `hpcbench retry --outcome cancelled` runs again what was cancelled.",
                  counts.asked.size() - left, counts.revoked));
  return left + static_cast<std::size_t>(counts.unseen) > 0 ? 1 : 0;
}

}  // namespace

void add_run(commandline::Command& command) {
  const auto study = std::make_shared<StudyOptions>();
  const auto options = std::make_shared<RunOptions>();
  add_study_options(command, *study, FileArgument::required);
  command.add_option("--repeats", study->repeats, "repeats of each configuration instead of the file's").positive();
  add_run_options(command, *options);
  const auto dry = std::make_shared<bool>(false);
  command.add_flag("--dry-run", *dry, "list the runs that would be started, and start none");
  command.action([=] { return *dry ? rehearse(load_study(*study), *options) : run_study(load_study(*study), *options); });
}

void add_retry(commandline::Command& command) {
  const auto study = std::make_shared<StudyOptions>();
  const auto options = std::make_shared<RunOptions>();
  const auto outcomes = std::make_shared<std::string>();
  add_study_options(command, *study, FileArgument::optional);
  add_run_options(command, *options);
  command.add_option("--outcome", *outcomes, "only runs with these outcomes, as in `failed,timeout`")
      .value_name("OUTCOME")
      .parts_of(retried_outcomes());
  command
      .add_option("--prepare", options->prepare_again,
                  "make this preparation again where it failed or its inputs changed, then go on as `run`")
      .value_name("NAME");
  command.action([=] {
    if (options->prepare_again.empty() || !outcomes->empty()) options->retry = parse_outcomes(*outcomes);
    const Study loaded = load_study(*study);
    if (!options->prepare_again.empty()) require_preparation(loaded, options->prepare_again);
    return run_study(loaded, *options);
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
  const auto batch = std::make_shared<std::string>();
  const auto arguments = std::make_shared<std::vector<std::string>>();
  command.add_option("-n", *ranks, "start this many ranks of COMMAND here").value_name("N").positive();
  command.add_option("--batch", *batch, "the attempt of this element of a job array, of the batch in this folder")
      .value_name("FOLDER");
  command.add_option("ARGUMENTS", *arguments, "the attempt's folder; with -n: the command after `--`");
  command.action([=] {
    if (*ranks > 0) return launch_ranks(*ranks, *arguments);
    if (!batch->empty() && arguments->empty()) return launch_batch(*batch);
    if (arguments->size() != 1 || !batch->empty())
      throw InputError("error: launch takes one attempt folder, `--batch FOLDER`, or `-n N -- COMMAND`");
    const char* token = std::getenv("HPCBENCH_TOKEN");
    return launch_attempt(arguments->front(), token == nullptr ? "" : token);
  });
}

}  // namespace hpcbench
