// `inject`: which attempts of a run are to meet the fault, also where hpcbench dies at any point between them.
#include "runfiles/injected.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "base/files.hpp"
#include "fakes/fake_executor.hpp"
#include "runfiles/run_info.hpp"
#include "runner/submit/study_fixture.hpp"

namespace hpcbench {

namespace {

RunInfo info_at(const StudyFixture& study, int attempt) {
  return parse_run_json(read_file(study.folder(study.key(0, 1, attempt)) + "/run.json"));
}

/// One run whose fault ends the attempt that meets it.
struct KilledStudy : StudyFixture {
  KilledStudy() : StudyFixture(1, 1) {
    experiment.work.inject = {{"kill_rank.step", "7", {}}};
    plan = make_plan(experiment);
    machine.ending = [this](const std::string& folder) {
      if (!parse_run_json(read_file(folder + "/run.json")).faults.kill_rank) return FakeMachine::Ending::succeed;
      if (!struck.insert(folder).second) return FakeMachine::Ending::fail;
      make_folders(folder + "/out");
      write_file(folder + "/out/state", "7", Durability::none);
      note_injected(folder, 0, {"kill_rank", 1, 0, "rank 0 got SIGKILL"});
      return FakeMachine::Ending::fail;
    };
  }
  std::set<std::string> struck;  // the attempts that met it
};

}  // namespace

TEST_CASE("inject: an attempt that follows by itself does not meet the fault again") {
  KilledStudy study;
  SUBCASE("by retries") { study.experiment.retries.failed = 1; }
  SUBCASE("by continue") { study.experiment.continuation = Continuation{{State::failed}, 20, {}}; }
  FakeExecutor executor = study.make_executor();
  study.run(executor);
  CHECK(study.struck.size() == 1);
  CHECK(info_at(study, 1).faults.kill_rank->rank == 0);
  CHECK(info_at(study, 1).injected_in == 0);
  CHECK_FALSE(info_at(study, 2).faults.any());
  CHECK(info_at(study, 2).injected_in == 1);
}

TEST_CASE("inject: a run that a person begins anew meets it anew") {
  KilledStudy study;
  FakeExecutor executor = study.make_executor();
  study.run(executor);
  CHECK(study.struck.size() == 1);
  const auto dispatcher = study.make_dispatcher(executor);
  CHECK(dispatcher->retry({study.key(0, 1, 1)}) == 1);
  while (dispatcher->step()) executor.wait(1);
  CHECK(study.struck.size() == 2);
  CHECK(info_at(study, 2).injected_in == 0);
}

TEST_CASE("inject: an attempt that ends before its fault leaves it to the next one") {
  KilledStudy study;
  study.experiment.retries.failed = 1;
  const auto hit = study.machine.ending;
  study.machine.ending = [&](const std::string& folder) {
    return folder.ends_with("/a1") ? FakeMachine::Ending::vanish : hit(folder);
  };
  FakeExecutor executor = study.make_executor();
  study.run(executor);
  CHECK(study.struck.size() == 1);
  CHECK(info_at(study, 2).faults.any());
  CHECK(info_at(study, 3).injected_in == 2);
}

TEST_CASE("inject: hpcbench may die at each point, and the run meets its fault once") {
  bool crashed = true;
  for (int point = 0; crashed; ++point) {
    CAPTURE(point);
    KilledStudy study;
    study.experiment.continuation = Continuation{{State::failed}, 20, {}};
    crashed = run_until_crash(study, 1, point);
    run_to_the_end(study, 1);
    CHECK(study.struck.size() == 1);
    CHECK(study.observer.journal.rbegin()->second == State::succeeded);
  }
}

}  // namespace hpcbench
