// A study from its lock to its summary, with a fake executor and clock: rounds, failures, takeovers, several studies in turn.
#include "study/study_run.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/terminal.hpp"
#include "fakes/fake_executor.hpp"
#include "fakes/manual_clock.hpp"
#include "fakes/temporary_folder.hpp"
#include "study/index.hpp"
#include "submit/cancel_notice.hpp"

using namespace hpcbench;

namespace {

/// Studies in a folder of their own, and the machine that executes their runs.
struct CallFixture {
  CallFixture() { be_quiet(); }

  Study load(const std::string& name, const std::string& text) {
    const std::string path = temporary / (name + ".yaml");
    write_file(path, "experiment: " + name + "\ncommand: [\"true\"]\n" + text, Durability::none);
    StudyOptions options;
    options.file = path;
    options.results = temporary / "results";
    return load_study(options);
  }

  /// Carries a study out as a call of its own does. Returns the exit code. After `steps` steps it does `then`, and carries on;
  /// without it the result is absent then.
  std::optional<int> run(const Study& study, RunOptions options = {}, int steps = 10'000,
                         const std::function<void()>& then = {}) {
    options.yes = true;
    FakeExecutor executor(machine, clock, 1);
    Executors executors(executor);
    Progress progress(clock);
    Call call{clock, executors, progress};
    StudyRun run(study, options, call);
    run.check_new();
    if (run.begin() == Pace::ended) return run.code();
    for (int step = 0; step < 10'000; ++step) {
      if (step == steps && !then) return std::nullopt;
      if (step == steps) then();
      const Pace pace = run.step();
      if (pace == Pace::ended) return run.code();
      if (pace == Pace::wait) executors.wait(1);
    }
    return std::nullopt;
  }

  /// How often attempts were executed, by number of executions of each.
  std::map<int, int> executions() const {
    std::map<int, int> counts;
    for (const auto& [folder, executed] : machine.executed) ++counts[executed];
    return counts;
  }

  int count(const Study& study, State state) {
    Store store = open_index(study.results_root);
    int count = 0;
    for (const AttemptState& run : counting_states(refresh_index(store, study))) count += run.state == state ? 1 : 0;
    return count;
  }

  TemporaryFolder temporary;
  ManualClock clock;
  FakeMachine machine;
};

}  // namespace

TEST_CASE("study run: each run is executed once, and a second call has nothing to do") {
  CallFixture fixture;
  const Study study = fixture.load("plain", "matrix: {k: [1, 2]}\nrepeats: 3\n");
  CHECK(fixture.run(study) == 0);
  CHECK(fixture.executions() == std::map<int, int>{{1, 6}});
  CHECK(fixture.run(study) == 0);
  CHECK(fixture.machine.jobs.size() == 6);
  CHECK(fixture.count(study, State::succeeded) == 6);
}

TEST_CASE("study run: a call that ends after any step is continued by the next, and each run is executed once") {
  for (int steps = 0; steps < 14; ++steps) {
    CAPTURE(steps);
    CallFixture fixture;
    const Study study = fixture.load("left", "matrix: {k: [1, 2]}\nrepeats: 2\n");
    fixture.run(study, {}, steps);
    CHECK(fixture.run(study) == 0);
    CHECK(fixture.executions() == std::map<int, int>{{1, 4}});
    CHECK(fixture.count(study, State::succeeded) == 4);
  }
}

TEST_CASE("study run: the same failure of every configuration stops it, and retry runs them again") {
  CallFixture fixture;
  const Study study = fixture.load("failing", "matrix: {k: [1, 2]}\nrepeats: 5\n");
  fixture.machine.ending = [](const std::string&) { return FakeMachine::Ending::fail; };
  CHECK(fixture.run(study) == 1);
  const auto begun = fixture.machine.jobs.size();
  CHECK(begun < 10);
  fixture.machine.ending = [](const std::string&) { return FakeMachine::Ending::succeed; };
  RunOptions options;
  options.retry = {State::failed, State::cancelled};
  CHECK(fixture.run(study, options) == 0);
  CHECK(fixture.machine.jobs.size() == begun + 10);
  CHECK(fixture.count(study, State::succeeded) == 10);
}

TEST_CASE("study run: --keep-going carries all runs out, whatever fails") {
  CallFixture fixture;
  const Study study = fixture.load("kept", "matrix: {k: [1, 2]}\nrepeats: 3\n");
  fixture.machine.ending = [](const std::string&) { return FakeMachine::Ending::fail; };
  RunOptions options;
  options.keep_going = true;
  CHECK(fixture.run(study, options) == 1);
  CHECK(fixture.machine.jobs.size() == 6);
  CHECK(fixture.count(study, State::failed) == 6);
}

TEST_CASE("study run: --again sets the finished runs aside and measures them again") {
  CallFixture fixture;
  const Study study = fixture.load("again", "matrix: {k: [1, 2]}\nrepeats: 2\n");
  CHECK(fixture.run(study) == 0);
  RunOptions options;
  options.again = true;
  CHECK(fixture.run(study, options) == 0);
  CHECK(fixture.machine.jobs.size() == 8);
  CHECK(fixture.count(study, State::succeeded) == 4);
}

TEST_CASE("study run: a second call that stops says of which runs, and counts those of the first") {
  FailureLimits limits;
  limits.to_run = {"aa"};
  FailureWatch watch;
  for (const int number : {3, 4}) watch.note_failure({"aa", RunName{RunKind::repeat, number}, 1}, State::failed, "exit code 1");
  CHECK(watch.reason_to_stop(limits) == "the first 2 runs failed in the same way");
  limits.failed_before = 2;
  CHECK(watch.reason_to_stop(limits) == "the first 2 runs of this call failed in the same way (4 have failed in all)");
  limits.most = 2;
  CHECK(watch.reason_to_stop(limits) == "2 runs of this call did not succeed (--max-failures 2) (4 have failed in all)");
}

TEST_CASE("study run: a request to end is noticed before any run begins, between runs, and by none that comes later") {
  for (const int steps : {0, 1, 2, 3, 5, 8}) {
    CAPTURE(steps);
    CallFixture fixture;
    const Study study = fixture.load("ended", "matrix: {k: [1, 2]}\nrepeats: 4\n");
    CHECK(fixture.run(study, {}, steps, [&] { request_end(study.results); }) == 1);
    const auto begun = fixture.machine.jobs.size();
    CHECK(begun < 8);
    CHECK((steps > 0 || begun == 0));
    CHECK(fixture.run(study) == (fixture.count(study, State::cancelled) > 0 ? 1 : 0));
    CHECK(fixture.machine.jobs.size() == 8);
    CHECK(fixture.executions() == std::map<int, int>{{1, 8}});
  }
}

TEST_CASE("study run: a budget begins no block that it cannot pay") {
  CallFixture fixture;
  // The fake program takes no time, so a block costs its time limit before the first run, and nothing after it.
  const Study dear =
      fixture.load("dear", "matrix: {k: [1, 2]}\nrepeats: 4\nbudget: {node_hours: 1}\nresources: {time: \"1:00:00\"}\n");
  CHECK(fixture.run(dear) == 0);
  CHECK(fixture.machine.jobs.empty());
  const Study cheap =
      fixture.load("cheap", "matrix: {k: [1, 2]}\nrepeats: 4\nbudget: {node_hours: 2}\nresources: {time: \"1:00:00\"}\n");
  CHECK(fixture.run(cheap) == 0);
  CHECK(fixture.executions() == std::map<int, int>{{1, 8}});
}

TEST_CASE("study run: a study that cannot start leaves no folder behind") {
  CallFixture fixture;
  const Study study = fixture.load("refused", "matrix: {nodes: [2]}\n");
  FakeExecutor executor(fixture.machine, fixture.clock, 1);
  Executors executors(executor);
  Progress progress(fixture.clock);
  Call call{fixture.clock, executors, progress};
  const RunOptions options;
  const StudyRun run(study, options, call);
  CHECK_THROWS_AS(run.check_new(), InputError);
  CHECK_FALSE(read_file_if_there(study.results + "/hpcbench.log"));
}
