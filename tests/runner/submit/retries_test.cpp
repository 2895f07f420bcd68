#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "fakes/fake_executor.hpp"
#include "runner/submit/study_fixture.hpp"

using namespace hpcbench;

TEST_CASE("retries.failed: what failed by its own end gets new attempts, as many as were asked for") {
  StudyFixture study(1, 1);
  study.experiment.retries.failed = 2;
  FakeExecutor executor = study.make_executor();
  SUBCASE("failed once") {
    study.machine.ending = [](const std::string& folder) {
      return folder.ends_with("/a1") ? FakeMachine::Ending::fail : FakeMachine::Ending::succeed;
    };
    study.run(executor);
    CHECK(study.observer.journal.size() == 2);
    CHECK(study.observer.journal[study.key(0, 1, 2)] == State::succeeded);
    CHECK(study.observer.forgiven == std::vector<AttemptKey>{study.key(0, 1, 1)});
  }
  SUBCASE("failed for ever") {
    study.machine.ending = [](const std::string&) { return FakeMachine::Ending::fail; };
    study.run(executor);
    CHECK(study.observer.journal.size() == 3);
    CHECK(study.observer.forgiven.size() == 2);
    FakeExecutor next = study.make_executor();
    CHECK(study.run(next) == 1);
    CHECK(next.requests.empty());
    study.experiment.retries.failed = 3;  // a later call may have more
    FakeExecutor more = study.make_executor();
    study.run(more);
    CHECK(study.observer.journal.size() == 4);
  }
  SUBCASE("failed by a value alone") {
    study.fail_by_value();  // the processes ended well
    study.run(executor);
    CHECK(study.observer.journal.size() == 1);
    CHECK(study.observer.journal[study.key(0, 1)] == State::failed);
    FakeExecutor next = study.make_executor();
    study.run(next);
    CHECK(study.observer.journal.size() == 1);
  }
}
