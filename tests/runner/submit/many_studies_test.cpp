#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "plan/prepared.hpp"
#include "slurm_study.hpp"
#include "spec/read_experiment.hpp"
#include "submit/preparations.hpp"

namespace hpcbench {

namespace {

TEST_CASE("several studies: one executor's slots are those of all, and the first goes first") {
  StudyFixture first(2, 2);
  StudyFixture second(3, 1);
  FakeExecutor executor(first.machine, first.clock, 2);
  const std::unique_ptr<Dispatcher> one = first.make_dispatcher(executor);
  const std::unique_ptr<Dispatcher> other = second.make_dispatcher(executor);
  bool one_open = true;
  bool other_open = true;
  for (int i = 0; i < 100 && (one_open || other_open); ++i) {
    one_open = one_open && one->step();
    other_open = other_open && other->step();
    executor.wait(1);
  }
  CHECK_FALSE(one_open);
  CHECK_FALSE(other_open);
  CHECK(executor.most_at_once == 2);
  CHECK(first.observer.submissions.size() == 4);
  CHECK(second.observer.submissions.size() == 3);
  CHECK(executor.requests.front().folders.front().starts_with(first.results));
  CHECK(executor.requests.back().folders.front().starts_with(second.results));
}

TEST_CASE("several studies: one squeue asks for all, and the limit on jobs in the queue is one for all") {
  std::vector<std::unique_ptr<SlurmStudy>> tests;
  SlurmSettings settings;
  for (const char* const name : {"a", "b", "c"}) {
    tests.push_back(std::make_unique<SlurmStudy>(2, 2));
    tests.back()->study.experiment.name = name;
    settings.studies.push_back({name, tests.back()->study.results});
  }
  settings.max_queued = 5;
  FakeSlurm& slurm = tests.front()->slurm;
  SlurmExecutor executor(settings, slurm, tests.front()->study.clock, [](const std::string&) {});
  std::vector<std::unique_ptr<Dispatcher>> dispatchers;
  for (const auto& test : tests) dispatchers.push_back(test->study.make_dispatcher(executor));
  std::size_t most = 0;
  int rounds = 0;
  bool open = true;
  for (; open && rounds < 200; ++rounds) {
    open = false;
    for (const auto& dispatcher : dispatchers) open = dispatcher->step() || open;
    std::size_t queued = 0;
    for (const auto& dispatcher : dispatchers) queued += dispatcher->running().size();
    most = std::max(most, queued);
    if (rounds % 3 == 2) slurm.finish_all();
    executor.wait(1);
  }
  CHECK_FALSE(open);
  CHECK(most == 5);
  CHECK(slurm.jobs.size() == 12);
  CHECK(slurm.calls["squeue"] <= rounds + 1);
  for (const auto& test : tests) {
    CHECK(test->state(0, 1) == State::succeeded);
    CHECK(test->state(1, 2) == State::succeeded);
  }
}

/// A study with one preparation, made by a job.
struct PreparedStudy {
  explicit PreparedStudy(const std::string& name) {
    experiment = parse_experiment(
        "experiment: " + name +
            "\nprepare: {build: {command: [make], on: job}}\ncommand: [\"{{build.dir}}/p\"]\nmatrix: {k: [1]}\n",
        "e.yaml", {});
    experiment.executor = "slurm";
    plan = make_plan(experiment);
    context.results = temporary / ("results/" + name);
    make_folders(context.results);
    context.call_folder = temporary.path().string();
    context.executor = "slurm";
    context.job_template = read_file(HPCBENCH_SOURCE_DIR "/templates/job.sh.mustache");
    context.array_template = read_file(HPCBENCH_SOURCE_DIR "/templates/slurm_array.sh.mustache");
  }
  std::unique_ptr<Dispatcher> make_dispatcher(Executor& executor, Clock& clock) {
    preparations = preparation_experiment(experiment, "slurm");
    of_build = preparation_plan(preparations, plan, 0);
    events.emplace(context.results, Reading{}, std::vector<Listener*>{});
    return std::make_unique<Dispatcher>(preparations, of_build, context, executor, clock, *events);
  }

  TemporaryFolder temporary;
  Experiment experiment, preparations;
  Plan plan, of_build;
  RenderContext context;
  std::optional<Events> events;
};

TEST_CASE("preparations of several studies: one squeue asks for all, and a controller that takes none keeps nobody waiting") {
  FakeSlurm slurm;
  ManualClock clock;
  std::vector<std::unique_ptr<PreparedStudy>> studies;
  SlurmSettings settings;
  for (int i = 0; i < 20; ++i) {
    studies.push_back(std::make_unique<PreparedStudy>("study" + std::to_string(i)));
    settings.studies.push_back({studies.back()->experiment.name, studies.back()->context.results});
  }
  settings.max_queued = 8;
  SlurmExecutor executor(settings, slurm, clock, [](const std::string&) {});
  std::vector<std::unique_ptr<Dispatcher>> makers;
  for (const auto& study : studies) makers.push_back(study->make_dispatcher(executor, clock));
  int busy = 3;  // sbatch is refused for the time being so often
  slurm.fault = [&](int) { return busy-- > 0 ? FakeSlurm::Fault::busy : FakeSlurm::Fault::none; };

  std::vector<bool> made(studies.size(), false);
  int rounds = 0;
  for (; rounds < 100 && std::find(made.begin(), made.end(), false) != made.end(); ++rounds) {
    std::size_t submitted = 0;
    for (std::size_t i = 0; i < makers.size(); ++i) {
      if (made[i]) continue;
      const double before_s = clock.monotonic_s();
      made[i] = !makers[i]->step();
      CHECK(clock.monotonic_s() == before_s);
      submitted += makers[i]->running().size();
    }
    CHECK(submitted <= 8);
    if (rounds % 4 == 3) slurm.finish_all();
    executor.wait(1);
  }
  CHECK(std::count(made.begin(), made.end(), true) == 20);
  CHECK(slurm.jobs.size() == 20);
  CHECK(slurm.calls["squeue"] <= rounds + 1);
  for (const auto& study : studies) {  // what waited for the controller kept its folder
    const PreparedInstance& build = study->plan.prepared[0];
    const std::vector<AttemptState> attempts = preparation_attempts(study->context.results, build);
    REQUIRE(attempts.size() == 1);
    CHECK(attempts.front().key.attempt == 1);
    CHECK(preparation_status(study->experiment, study->context.results, build).succeeded());
  }
}

}  // namespace

}  // namespace hpcbench
