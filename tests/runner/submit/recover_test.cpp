#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <filesystem>
#include <map>

#include "runner/submit/study_fixture.hpp"
#include "submit/dispatcher.hpp"

namespace hpcbench {

namespace {

namespace fs = std::filesystem;
using Ending = FakeMachine::Ending;

/// What is wrong when all is over; empty: each run has one attempt that counts, and no attempt was submitted or executed twice.
std::string find_violation(StudyFixture& study, int configurations, int repeats) {
  for (const auto& [folder, times] : study.machine.started) {
    if (times != 1) return folder + " was submitted more than once";
  }
  for (const auto& [folder, times] : study.machine.executed) {
    if (times != 1) return folder + " was executed more than once";
  }
  for (int configuration = 0; configuration < configurations; ++configuration) {
    for (int repeat = 1; repeat <= repeats; ++repeat) {
      int executed = 0;
      int lost = 0;
      int succeeded = 0;
      for (int attempt = 1; study.observer.journal.count(study.key(configuration, repeat, attempt)) != 0; ++attempt) {
        const AttemptKey key = study.key(configuration, repeat, attempt);
        const State state = study.observer.journal[key];
        if (!is_outcome(state)) return to_string(key) + " has no outcome";
        executed += study.machine.executed.count(study.folder(key)) != 0 ? 1 : 0;
        lost += state == State::lost ? 1 : 0;
        succeeded += state == State::succeeded ? 1 : 0;
      }
      // Only those that were lost may have run beside the one that counts.
      if (succeeded != 1)
        return to_string(study.key(configuration, repeat)) + ": its run has " + std::to_string(succeeded) + " that count";
      if (executed != lost + 1) return to_string(study.key(configuration, repeat)) + ": its run was executed too often";
    }
  }
  return {};
}

TEST_CASE("each point at which hpcbench can die is survived") {
  for (const bool claims_at_once : {true, false}) {
    for (const bool late : {true, false}) {
      bool crashed = true;
      for (int point = 0; crashed; ++point) {
        StudyFixture study(2, 2);
        study.machine.claims_at_once = claims_at_once;
        study.machine.ending = [](const std::string& folder) {
          return folder.ends_with("1/r01/a1") ? Ending::vanish : Ending::succeed;
        };
        study.observer.late = late;
        crashed = run_until_crash(study, 2, point);
        run_to_the_end(study, 2);
        CHECK(find_violation(study, 2, 2).empty());
      }
    }
  }
}

TEST_CASE("many deaths, at any point, with jobs that end or are lost meanwhile") {
  CHECK(rc::check("exactly once", [] {
    constexpr int kConfigurations = 3;
    constexpr int kRepeats = 2;
    StudyFixture study(kConfigurations, kRepeats);
    study.machine.claims_at_once = *rc::gen::arbitrary<bool>();
    study.experiment.retries.lost = 1;
    const int slots = *rc::gen::inRange(1, 4);
    const std::map<std::string, bool> is_lost = {{"0/r01/a1", *rc::gen::arbitrary<bool>()},
                                                 {"1/r02/a1", *rc::gen::arbitrary<bool>()},
                                                 {"2/r01/a1", *rc::gen::arbitrary<bool>()}};
    study.machine.ending = [is_lost](const std::string& folder) {
      const auto found = is_lost.find(folder.substr(folder.size() - 8));
      return found != is_lost.end() && found->second ? Ending::vanish : Ending::succeed;
    };
    const auto points = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 25));
    for (const int point : points) {
      study.observer.late = *rc::gen::arbitrary<bool>();
      run_until_crash(study, slots, point);
      const int ended = *rc::gen::inRange(0, 3);
      for (int i = 0; i < ended; ++i) study.machine.end_oldest();
    }
    run_to_the_end(study, slots);
    RC_ASSERT(find_violation(study, kConfigurations, kRepeats) == "");
  }));
}

TEST_CASE("attempts that were never handed over keep their numbers") {
  StudyFixture study(3, 1);
  run_until_crash(study, 1, 1);  // right after `intended` was journaled
  CHECK(study.observer.journal.size() == 3);
  CHECK(study.machine.jobs.empty());
  // Their files are made anew, so a crash while they were written is nothing special.
  fs::remove(study.folder(study.key(1, 1)) + "/run.json");
  fs::remove_all(study.folder(study.key(2, 1)));
  run_to_the_end(study, 1);
  CHECK(study.observer.journal.size() == 3);
  CHECK(study.machine.executed.size() == 3);
  for (const std::string& id : study.observer.batch_ids)
    CHECK(fs::exists(study.results + "/batches/" + id + "/submitted.json"));
}

TEST_CASE("the same where the journal never heard of them") {
  StudyFixture study(3, 1);
  run_until_crash(study, 1, 0);  // files are written, nothing is journaled
  CHECK(study.observer.journal.empty());
  CHECK(fs::exists(study.folder(study.key(2, 1)) + "/run.json"));
  run_to_the_end(study, 1);
  CHECK(study.observer.journal.size() == 3);
  CHECK(study.observer.journal[study.key(2, 1, 1)] == State::succeeded);
}

TEST_CASE("after a restart of the machine an intended attempt is doubtful, and revoked") {
  StudyFixture study(1, 1);
  run_until_crash(study, 1, 1);
  const std::string log = study.results + "/batches/" + study.observer.batch_ids[0] + "/handed.txt";
  write_file(log, "host here boot_id before\n", Durability::none);
  run_to_the_end(study, 1);
  CHECK(study.observer.journal[study.key(0, 1, 1)] == State::cancelled);
  CHECK(study.observer.settlements[0].reason == "void: an earlier call ended before its job began");
  CHECK(read_file(study.folder(study.key(0, 1, 1)) + "/claim") == "revoked void: an earlier call ended before its job began\n");
  CHECK(study.observer.journal[study.key(0, 1, 2)] == State::succeeded);
}

TEST_CASE("a void attempt does not count, however old it is") {
  StudyFixture study(1, 1);
  fs::create_directories(study.folder(study.key(0, 1)));
  REQUIRE(try_claim(study.folder(study.key(0, 1)),
                    Claim{.revoked = true, .why = "void: reason", .token = {}, .job = {}, .process = {}}));
  study.observer.journal = {{study.key(0, 1), State::cancelled}};
  run_to_the_end(study, 1);
  CHECK(study.observer.journal[study.key(0, 1, 2)] == State::succeeded);
}

TEST_CASE("a job that runs is adopted and takes a slot") {
  StudyFixture study(3, 1);
  {
    FakeExecutor executor = study.make_executor(1);
    study.make_dispatcher(executor)->step();
  }
  FakeExecutor executor = study.make_executor(1);
  const auto dispatcher = study.make_dispatcher(executor);
  CHECK(executor.adopted == std::vector<std::string>{study.folder(study.key(0, 1))});
  CHECK(dispatcher->step());
  CHECK(executor.requests.empty());
  CHECK(dispatcher->running() == std::vector<AttemptKey>{study.key(0, 1)});
  while (dispatcher->step()) executor.wait(1);
  CHECK(study.observer.journal.size() == 3);
  CHECK(study.machine.executed.size() == 3);
}

TEST_CASE("nothing runs twice when the index is lost") {
  StudyFixture study(2, 2);
  {
    FakeExecutor executor = study.make_executor(1);
    const auto dispatcher = study.make_dispatcher(executor);
    dispatcher->step();
    executor.wait(1);
    dispatcher->step();  // one has ended, one runs, two are intended
  }
  study.observer.journal.clear();
  run_to_the_end(study, 1);
  CHECK(study.machine.executed.size() == 4);
  CHECK(study.observer.journal.size() == 4);

  study.observer.journal.clear();
  study.observer.settlements.clear();
  FakeExecutor idle = study.make_executor(1);
  study.run(idle);
  CHECK(idle.requests.empty());
  CHECK(study.observer.settlements.size() == 4);
}

TEST_CASE("runs that the plan does not hold are left alone") {
  StudyFixture study(2, 2);
  run_until_crash(study, 1, 1);
  const Plan whole = study.plan;
  study.plan.configurations.erase(study.plan.configurations.begin());
  run_to_the_end(study, 1);
  CHECK(study.machine.executed.size() == 2);
  study.plan = whole;
  CHECK(study.observer.journal[study.key(0, 1)] == State::intended);
  run_to_the_end(study, 1);
  CHECK(study.machine.executed.size() == 4);
  CHECK(study.observer.journal.size() == 4);
}

TEST_CASE("an old batch does not vouch for what a newer one has handed over") {
  StudyFixture study(2, 1);
  study.machine.claims_at_once = false;
  run_until_crash(study, 1, 1);
  const Plan whole = study.plan;
  study.plan.configurations.erase(study.plan.configurations.begin());
  study.observer.late = true;
  // intended (2 points), the executor (2): it dies right after the job was started, before anybody was told.
  run_until_crash(study, 1, 3);
  CHECK(study.machine.jobs.size() == 1);
  study.plan = whole;
  run_to_the_end(study, 1);
  CHECK(find_violation(study, 2, 1).empty());
  CHECK(study.observer.journal[study.key(1, 1, 2)] == State::succeeded);
}

TEST_CASE("of a job on another host only its finished.json can tell") {
  StudyFixture study(1, 1);
  {
    FakeExecutor executor = study.make_executor(1);
    study.make_dispatcher(executor)->step();
  }
  FakeExecutor executor = study.make_executor(1);
  executor.unseen.insert(study.folder(study.key(0, 1)));
  const auto dispatcher = study.make_dispatcher(executor);
  REQUIRE(study.observer.notes.size() == 1);
  for (int i = 0; i < 3; ++i) {
    CHECK(dispatcher->step());
    study.clock.advance(2);
  }
  study.machine.end_oldest();
  CHECK_FALSE(dispatcher->step());
  CHECK(study.observer.journal[study.key(0, 1)] == State::succeeded);
}

TEST_CASE("with nothing to do nothing is touched") {
  StudyFixture study(100, 100);
  for (int configuration = 0; configuration < 100; ++configuration) {
    for (int repeat = 1; repeat <= 100; ++repeat) study.observer.journal[study.key(configuration, repeat)] = State::succeeded;
  }
  FakeExecutor executor = study.make_executor(1);
  CHECK(study.run(executor) == 1);
  CHECK_FALSE(fs::exists(study.results));
}

}  // namespace

}  // namespace hpcbench
