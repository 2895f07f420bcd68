#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/host.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/study_options.hpp"
#include "imports/import_runs.hpp"
#include "study/index.hpp"
#include "study/live_status.hpp"
#include "study/status_view.hpp"
#include "submit/experiment_lock.hpp"

namespace hpcbench {

namespace {

std::string absolute_folder(const std::string& folder) { return std::filesystem::absolute(folder).lexically_normal().string(); }

int show_status(const StudyOptions& options, const std::string& format, bool all) {
  const Study study = load_study(options);
  note_without_results(study);
  std::optional<std::string> owner = experiment_owner(study.results);
  const IndexView index = open_for_reading(study);
  ProcessToolRunner tools;
  std::string problem;
  const StatusView view = live_status(study, index.store, tools, std::move(owner), problem);
  if (!problem.empty()) say(problem);
  if (format == "json") {
    write_status_json(view, unix_time_s(), print_data);
  } else {
    print_data(status_text(view, unix_time_s(), all));
  }
  return view.counts.ended() > view.counts.of(State::succeeded) ? 1 : 0;
}

/// Makes the database anew from the run directories.
int rebuild_database(const std::string& results) {
  const std::string root = absolute_folder(results);
  if (!std::filesystem::exists(root)) throw InputError(fmt::format("error: there is no folder {}", root));
  Store store = open_index(root);
  store.clear(std::nullopt);
  std::size_t count = 0;
  const std::vector<std::string> names = experiments_on_disk(root);
  for (const std::string& name : names) count += reindex(store, root, name);
  say(fmt::format("rebuilt {}/hpcbench.db: {}, {}", root,
                  counted(static_cast<long long>(names.size()), "experiment", "experiments"),
                  counted(static_cast<long long>(count), "attempt", "attempts")));
  return 0;
}

int unlock_experiment(const std::string& results, const std::string& experiment) {
  const std::string folder = absolute_folder(results) + "/" + experiment;
  std::string owner;
  if (!std::filesystem::exists(folder)) throw InputError(fmt::format("error: there is no folder {}", folder));
  if (ExperimentLock::try_acquire(folder, &owner)) {
    say(fmt::format("{} is not locked", experiment));
    return 0;
  }
  if (!break_lock(folder)) {
    throw UnavailableError(
        fmt::format("error: {} is owned by {}, which is alive; end that process instead", experiment, owner));
  }
  say(fmt::format("removed the lock of {}", owner));
  return 0;
}

}  // namespace

void add_status(commandline::Command& command) {
  const auto options = std::make_shared<StudyOptions>();
  const auto format = std::make_shared<std::string>("text");
  add_study_options(command, *options, FileArgument::optional);
  command.add_option("--format", *format, "text or json").one_of({"text", "json"});
  const auto all = std::make_shared<bool>(false);
  command.add_flag("--all", *all, "list every run, also those that succeeded or have not begun");
  command.action([=] { return show_status(*options, *format, *all); });
}

void add_db(commandline::Command& command) {
  const auto results = std::make_shared<std::string>("results");
  const auto experiment = std::make_shared<std::string>();
  commandline::Command& rebuild = command.add_command("rebuild", "make results/hpcbench.db anew from the run directories");
  add_results_option(rebuild, *results);
  rebuild.action([=] { return rebuild_database(*results); });
  commandline::Command& unlock =
      command.add_command("unlock", "remove the lock of a process on another host that is known to be gone");
  unlock.add_option("EXPERIMENT", *experiment, "whose lock").required();
  add_results_option(unlock, *results);
  unlock.action([=] { return unlock_experiment(*results, *experiment); });
}

}  // namespace hpcbench
