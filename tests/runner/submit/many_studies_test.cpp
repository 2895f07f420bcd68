#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "slurm_study.hpp"

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

}  // namespace

}  // namespace hpcbench
