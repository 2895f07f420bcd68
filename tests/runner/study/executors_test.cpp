// Every executor that can work on this machine: runs end, a killed call is continued, runs are cancelled and limited, and
// nothing runs twice. Slurm's has the same tests on a cluster (tests/slurm). A new executor gets a row in kExecutors.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/terminal.hpp"
#include "base/text.hpp"
#include "executors/commands/commands_executor.hpp"
#include "executors/local/local_executor.hpp"
#include "fakes/temporary_folder.hpp"
#include "fakes/toy_executor/toy_executor.hpp"
#include "study/index.hpp"
#include "study/study_run.hpp"
#include "submit/dispatcher.hpp"

using namespace hpcbench;

namespace {

constexpr double kPatience = 120;
constexpr int kSlots = 2;
const std::string kProgram = HPCBENCH_PROGRAMS "/hpcbench";

/// A batch system of scripts (tests/fakes/batch_system.py), which starts the next jobs when it is asked for its list.
const std::string kSite = R"(
name: fake
executor: commands
commands:
  name: Fake Batch
  submit: [python3, BATCH, submit, "{{script}}"]
  id: 'Job ([0-9]+) was'
  list: [python3, BATCH, list, "{{user}}"]
  job: '(?m)^(?P<id>[0-9]+)[|](?P<name>[^|]*)[|](?P<state>\w+)$'
  waiting: [Q]
  running: [R]
  cancel: [python3, BATCH, cancel, "{{ids}}"]
  job_variable: FAKE_JOB_ID
  directives: ["#FAKE name {{name}}", "#FAKE log {{log}}"]
)";

struct ExecutorRow {
  const char* name;
  const char* site;  // the text of a site file, if the executor needs one
  std::unique_ptr<Executor> (*make)(const Study& study);
};

const std::vector<ExecutorRow> kExecutors = {
    {"local", "", [](const Study&) -> std::unique_ptr<Executor> { return std::make_unique<LocalExecutor>(kSlots, kProgram); }},
    {"toy", "", [](const Study&) -> std::unique_ptr<Executor> { return std::make_unique<ToyExecutor>(kProgram, kSlots); }},
    {"commands", kSite.c_str(),
     [](const Study& study) -> std::unique_ptr<Executor> {
       static ProcessToolRunner tools;
       CommandsSettings settings;
       settings.studies.push_back({study.experiment.name, study.results});
       settings.system = study.experiment.site.commands.value();
       settings.gone_after_s = 1;
       return std::make_unique<CommandsExecutor>(settings, tools, system_clock(), [](const std::string&) {});
     }},
};

/// A study of two configurations in a folder of its own; its program notes each execution and then does as `work` says.
struct Scene {
  Scene(const ExecutorRow& the_row, const std::string& work, const std::string& more = "repeats: 2\n") : row(the_row) {
    be_quiet();
    ::setenv("FAKE_BATCH", (temporary / "batch").c_str(), 1);
    write_file(temporary / "work.sh", "echo \"$HPCBENCH_RUN_DIR\" >> " + executed_path() + "\n" + work + "\n",
               Durability::none);
    write_file(temporary / "s.yaml",
               "experiment: s\ncommand: [sh, " + (temporary / "work.sh") +
                   ", \"{{k}}\"]\nlaunch: once\nmatrix: {k: [1, 2]}\nsuccess: {exit_code: 0}\n" + more,
               Durability::none);
    StudyOptions options;
    options.file = temporary / "s.yaml";
    options.results = temporary / "results";
    if (*row.site != 0) {
      std::string site = row.site;
      const std::string batch = HPCBENCH_SOURCE_DIR "/tests/fakes/batch_system.py";
      for (std::size_t at = site.find("BATCH"); at != std::string::npos; at = site.find("BATCH", at + batch.size()))
        site.replace(at, 5, batch);
      options.site = temporary / "site.yaml";
      write_file(options.site, site, Durability::none);
    }
    study = load_study(options);
  }

  std::string executed_path() const { return temporary / "executed"; }

  /// `hpcbench run` with a new executor. Returns the exit code.
  int run() const {
    RunOptions options;
    options.yes = options.keep_going = true;
    const std::unique_ptr<Executor> executor = row.make(study);
    Executors executors(*executor);
    Progress progress(system_clock());
    Call call{system_clock(), executors, progress};
    StudyRun run(study, options, call);
    Pace pace = run.begin();
    while (pace == Pace::wait) {  // a child of a killed call may hold its lock for a moment
      executors.wait(1);
      pace = run.begin();
    }
    while (pace != Pace::ended) {
      pace = run.step();
      if (pace == Pace::wait) executors.wait(1);
    }
    return run.code();
  }

  /// Calls `run` in a process that is killed once `executions` have begun.
  void run_and_kill(std::size_t executions) const {
    const pid_t call = ::fork();
    if (call == 0) ::_exit(run());
    const bool has_begun =
        eventually([&] { return executed().size() >= executions || ::waitpid(call, nullptr, WNOHANG) != 0; });
    ::kill(call, SIGKILL);
    ::waitpid(call, nullptr, 0);
    REQUIRE(has_begun);
  }

  /// How often each attempt was executed.
  std::map<std::string, int> executed() const {
    std::map<std::string, int> counts;
    for (const std::string& line : split(read_file_if_there(executed_path()).value_or(""), '\n')) {
      if (!line.empty()) ++counts[line];
    }
    return counts;
  }

  bool each_once(std::size_t attempts) const {
    const std::map<std::string, int> counts = executed();
    return counts.size() == attempts && std::all_of(counts.begin(), counts.end(), [](const auto& c) { return c.second == 1; });
  }

  std::map<State, int> outcomes() const {
    Store store = open_index(study.results_root);
    std::map<State, int> counts;
    for (const AttemptState& run : counting_states(refresh_index(store, study))) ++counts[run.state];
    return counts;
  }

  static bool eventually(const std::function<bool()>& holds) {
    const double end_s = monotonic_s() + kPatience;
    while (!holds()) {
      if (monotonic_s() > end_s) return false;
      ::usleep(5000);
    }
    return true;
  }

  const ExecutorRow& row;
  TemporaryFolder temporary;
  Study study;
};

using Outcomes = std::map<State, int>;

}  // namespace

TEST_CASE("executors: runs end well or badly, and each is executed once") {
  for (const ExecutorRow& row : kExecutors) {
    CAPTURE(row.name);
    const Scene scene(row, "[ $1 = 1 ]");
    CHECK(scene.run() == 1);
    CHECK(scene.outcomes() == Outcomes{{State::succeeded, 2}, {State::failed, 2}});
    CHECK(scene.each_once(4));
    scene.run();
    CHECK(scene.each_once(4));
  }
}

TEST_CASE("executors: a call that is killed is continued; nothing runs twice and nothing is lost") {
  for (const ExecutorRow& row : kExecutors) {
    CAPTURE(row.name);
    const Scene scene(row, "sleep 0.2", "repeats: 4\n");
    for (const std::size_t executions : {0U, 1U, 3U, 5U}) scene.run_and_kill(executions);
    CHECK(scene.run() == 0);
    CHECK(scene.outcomes() == Outcomes{{State::succeeded, 8}});
    CHECK(scene.each_once(8));
  }
}

TEST_CASE("executors: cancel ends runs of a killed call and revokes the others") {
  for (const ExecutorRow& row : kExecutors) {
    CAPTURE(row.name);
    const Scene scene(row, "echo $$ > " + std::string("$HPCBENCH_RUN_DIR/pid; sleep 600"));
    scene.run_and_kill(1);
    {
      Store store = open_index(scene.study.results_root);
      const std::vector<AttemptState> states = refresh_index(store, scene.study);
      const std::unique_ptr<Executor> executor = row.make(scene.study);
      Events events(scene.study.results, {}, {});
      const CancelCounts counts = cancel_attempts(scene.study.results, states, *executor, events);
      CHECK(await_ends(
                scene.study.results, counts.asked, *executor, system_clock(), kPatience, [] { return false; }, events)
                .empty());
    }
    scene.run();
    const std::map<std::string, int> executed = scene.executed();
    CHECK(scene.outcomes()[State::cancelled] >= 1);
    for (const auto& [folder, count] : executed) {
      CHECK(count == 1);
      const std::string pid = read_file_if_there(folder + "/pid").value_or("");
      CHECK((pid.empty() || Scene::eventually([&] { return ::kill(std::stoi(pid), 0) != 0; })));
    }
  }
}

TEST_CASE("executors: a time limit ends a run") {
  for (const ExecutorRow& row : kExecutors) {
    CAPTURE(row.name);
    const Scene scene(row, "[ $1 = 1 ] || sleep 600", "repeats: 1\nresources: {time: 1s}\n");
    CHECK(scene.run() == 1);
    CHECK(scene.outcomes() == Outcomes{{State::succeeded, 1}, {State::timeout, 1}});
    CHECK(scene.each_once(2));
  }
}
