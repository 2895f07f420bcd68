#include "submit/dispatcher.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "runner/submit/study_fixture.hpp"

namespace hpcbench {

namespace {

using Ending = FakeMachine::Ending;

TEST_CASE("each run is submitted once, in order, in one batch") {
  StudyFixture study(2, 2);
  FakeExecutor executor = study.make_executor(1);
  study.run(executor);

  const std::vector<AttemptKey> all = {study.key(0, 1), study.key(0, 2), study.key(1, 1), study.key(1, 2)};
  REQUIRE(study.observer.batches.size() == 1);
  CHECK(study.observer.batches[0] == all);
  CHECK(study.observer.submissions == all);
  CHECK(executor.most_at_once == 1);
  for (const AttemptKey& key : all) {
    CHECK(study.observer.journal[key] == State::succeeded);
    CHECK(study.machine.executed[study.folder(key)] == 1);
    CHECK(std::filesystem::exists(study.folder(key) + "/run.json"));
  }
  CHECK(executor.requests[0].folders == std::vector<std::string>{study.folder(study.key(0, 1))});
  CHECK(executor.requests[0].batch == study.observer.batch_ids[0]);

  const std::string batch = study.results + "/batches/" + study.observer.batch_ids[0];
  CHECK(read_file(batch + "/attempts.txt") ==
        "0000000000000000/r01/a1\n0000000000000000/r02/a1\n0000000000000001/r01/a1\n0000000000000001/r02/a1\n");
  CHECK(read_file(batch + "/submitted.json") ==
        "{\"schema\":1,\"jobs\":{\"0000000000000000/r01/a1\":\"1000\",\"0000000000000000/r02/a1\":\"1001\","
        "\"0000000000000001/r01/a1\":\"1002\",\"0000000000000001/r02/a1\":\"1003\"}}\n");
}

TEST_CASE("slots are filled and never exceeded") {
  StudyFixture study(5, 2);
  FakeExecutor executor = study.make_executor(3);
  const auto dispatcher = study.make_dispatcher(executor);
  CHECK(dispatcher->step());
  CHECK(dispatcher->running().size() == 3);
  CHECK(executor.requests.size() == 1);  // three attempts in one call
  CHECK(dispatcher->counts().running == 3);
  CHECK(dispatcher->counts().asked == 10);
  while (dispatcher->step()) executor.wait(1);
  CHECK(executor.most_at_once == 3);
  CHECK(dispatcher->counts().ended == 10);
  CHECK(dispatcher->counts().succeeded == 10);
  CHECK(dispatcher->counts().running == 0);
}

TEST_CASE("a batch holds at most 1,000 attempts") {
  StudyFixture study(1001, 1);
  FakeExecutor executor = study.make_executor(1001);
  const auto dispatcher = study.make_dispatcher(executor);
  CHECK(dispatcher->step());
  REQUIRE(study.observer.batches.size() == 1);
  CHECK(study.observer.batches[0].size() == 1000);
  CHECK(dispatcher->step());
  REQUIRE(study.observer.batches.size() == 2);
  CHECK(study.observer.batches[1] == std::vector<AttemptKey>{study.key(1000, 1)});
}

TEST_CASE("runs that are tried again keep their order over several batches") {
  StudyFixture study(1001, 1);
  study.machine.ending = [](const std::string& folder) { return folder.ends_with("/a1") ? Ending::vanish : Ending::succeed; };
  FakeExecutor executor = study.make_executor(1001);
  const auto dispatcher = study.make_dispatcher(executor);
  dispatcher->step();
  dispatcher->step();
  REQUIRE(dispatcher->running().size() == 1001);
  while (study.machine.end_oldest()) continue;
  study.observer.submissions.clear();
  dispatcher->step();
  CHECK(study.observer.batches.size() == 4);
  std::vector<AttemptKey> expected;
  for (int i = 0; i < 1001; ++i) expected.push_back(study.key(i, 1, 2));
  CHECK(study.observer.submissions == expected);
}

TEST_CASE("once nothing more may begin what runs goes on, and what was not handed over keeps its numbers") {
  StudyFixture study(6, 1);
  bool spent = false;
  study.hold = [&] { return std::string(spent ? "all is spent" : ""); };
  study.machine.ending = [&](const std::string& folder) {
    spent = spent || folder == study.folder(study.key(1, 1));
    return folder == study.folder(study.key(2, 1)) ? FakeMachine::Ending::vanish : FakeMachine::Ending::succeed;
  };
  FakeExecutor executor = study.make_executor(3);
  CHECK(study.run(executor, 100) < 100);
  CHECK(study.machine.executed.size() == 3);                      // those that ran when it was spent
  CHECK(study.observer.journal[study.key(2, 1)] == State::lost);  // and is not tried again
  spent = false;
  study.machine.ending = [](const std::string&) { return FakeMachine::Ending::succeed; };
  FakeExecutor more = study.make_executor(3);
  study.run(more);
  for (const auto& [folder, times] : study.machine.executed) CHECK(times == 1);
  for (int i = 0; i < 6; ++i) CHECK(study.observer.journal[study.key(i, 1, i == 2 ? 2 : 1)] == State::succeeded);
}

TEST_CASE("a lost job gets a new attempt, twice at most") {
  StudyFixture study(1, 1);
  FakeExecutor executor = study.make_executor();
  SUBCASE("lost once") {
    study.machine.ending = [](const std::string& folder) { return folder.ends_with("/a1") ? Ending::vanish : Ending::succeed; };
    study.run(executor);
    CHECK(study.observer.journal[study.key(0, 1, 1)] == State::lost);
    CHECK(study.observer.journal[study.key(0, 1, 2)] == State::succeeded);
    CHECK(executor.cancelled == std::vector<std::string>{study.folder(study.key(0, 1, 1))});
  }
  SUBCASE("lost for ever") {
    study.machine.ending = [](const std::string&) { return Ending::vanish; };
    study.run(executor);
    CHECK(study.observer.journal.size() == 3);
    CHECK(study.observer.journal[study.key(0, 1, 3)] == State::lost);
    // The limit holds in the next call, too.
    FakeExecutor next = study.make_executor();
    CHECK(study.run(next) == 1);
    CHECK(next.requests.empty());
  }
  SUBCASE("dead before it could claim") {
    study.machine.ending = [](const std::string&) { return Ending::die_before_claim; };
    study.run(executor);
    CHECK(study.observer.journal.size() == 3);
    CHECK(study.observer.settlements[0].state == State::lost);
    CHECK(study.observer.settlements[0].reason == "the job ended before it began");
    CHECK(read_file(study.folder(study.key(0, 1)) + "/claim") == "token " + study.observer.batch_ids[0] + "\njob 1000\n");
  }
  SUBCASE("no retries wanted") {
    study.experiment.retries.lost = 0;
    study.machine.ending = [](const std::string&) { return Ending::vanish; };
    study.run(executor);
    CHECK(study.observer.journal.size() == 1);
  }
}

TEST_CASE("a failure is a result: only a person asks for another attempt") {
  StudyFixture study(2, 1);
  study.machine.ending = [](const std::string& folder) { return folder.ends_with("/a1") ? Ending::fail : Ending::succeed; };
  FakeExecutor executor = study.make_executor();
  study.run(executor);
  CHECK(study.observer.journal.size() == 2);
  FakeExecutor idle = study.make_executor();
  CHECK(study.run(idle) == 1);

  FakeExecutor again = study.make_executor();
  const auto dispatcher = study.make_dispatcher(again);
  CHECK(dispatcher->counts().ended == 2);
  CHECK(dispatcher->retry({study.key(1, 1), AttemptKey{"ffffffffffffffff", {RunKind::repeat, 1}, 1}}) == 1);
  CHECK(dispatcher->counts().ended == 1);
  while (dispatcher->step()) again.wait(1);
  CHECK(study.observer.journal[study.key(1, 1, 2)] == State::succeeded);
  CHECK(study.observer.journal.count(study.key(0, 1, 2)) == 0);
  CHECK(again.cancelled.empty());
}

TEST_CASE("a doubtful submission is revoked, never repeated, and no retry") {
  StudyFixture study(1, 1);
  FakeExecutor executor = study.make_executor();
  executor.answer = [](const std::string& folder) {
    return folder.ends_with("/a1") ? Submission::Kind::doubtful : Submission::Kind::accepted;
  };
  study.experiment.retries.lost = 0;
  SUBCASE("it had not been started") {
    study.run(executor);
    CHECK(study.observer.settlements[0].state == State::cancelled);
    CHECK(study.observer.settlements[0].reason == "void: doubtful submission: no answer");
    CHECK(study.observer.journal[study.key(0, 1, 2)] == State::succeeded);
  }
  SUBCASE("it runs: its claim names it") {
    executor.doubtful_starts = true;
    study.run(executor);
    CHECK(study.observer.journal.size() == 1);
    CHECK(study.observer.journal[study.key(0, 1)] == State::succeeded);
    CHECK(executor.adopted.size() == 1);
  }
  SUBCASE("it begins later: its claim is taken") {
    executor.doubtful_starts = true;
    study.machine.claims_at_once = false;
    study.run(executor);
    CHECK(study.observer.journal[study.key(0, 1, 2)] == State::succeeded);
    CHECK(study.machine.executed.count(study.folder(study.key(0, 1, 1))) == 0);
  }
}

TEST_CASE("a refusal ends the call; what it refused keeps its numbers") {
  for (const int slots : {1, 2, 3}) {
    StudyFixture study(3, 1);
    FakeExecutor executor = study.make_executor(slots);
    executor.answer = [&](const std::string& folder) {
      return folder == study.folder(study.key(1, 1)) ? Submission::Kind::refused : Submission::Kind::accepted;
    };
    CHECK_THROWS_AS(study.run(executor), UnavailableError);
    CHECK(study.machine.started.size() == 1);
    FakeExecutor mended = study.make_executor(slots);
    study.run(mended);
    CHECK(study.observer.journal.size() == 3);
    for (int i = 0; i < 3; ++i) CHECK(study.observer.journal[study.key(i, 1)] == State::succeeded);
    for (const auto& [folder, times] : study.machine.started) CHECK(times == 1);
  }
}

TEST_CASE("of a span that an executor does not take as a whole, the rest comes later") {
  StudyFixture study(3, 1);
  FakeExecutor executor = study.make_executor(3);
  bool full = true;
  executor.answer = [&](const std::string& folder) {
    const bool later = folder == study.folder(study.key(1, 1)) && std::exchange(full, false);
    return later ? Submission::Kind::later : Submission::Kind::accepted;
  };
  study.run(executor);
  CHECK(study.observer.submissions == std::vector<AttemptKey>{study.key(0, 1), study.key(1, 1), study.key(2, 1)});
  CHECK(study.observer.journal.size() == 3);
  for (const auto& [folder, times] : study.machine.started) CHECK(times == 1);
}

TEST_CASE("warm-ups end before their configuration's repeats begin") {
  StudyFixture study(1, 2, 2);
  FakeExecutor executor = study.make_executor(4);
  const auto dispatcher = study.make_dispatcher(executor);
  CHECK(dispatcher->counts().asked == 4);
  dispatcher->step();
  CHECK(study.observer.submissions == std::vector<AttemptKey>{study.warmup(0, 1), study.warmup(0, 2)});
  study.machine.end_oldest();
  dispatcher->step();
  CHECK(study.observer.submissions.size() == 2);
  study.machine.end_oldest();
  dispatcher->step();
  CHECK(study.observer.submissions.size() == 4);
}

TEST_CASE("a warm-up that is lost is tried again before the repeats") {
  StudyFixture study(1, 1, 1);
  study.machine.ending = [](const std::string& folder) {
    return folder.ends_with("/w01/a1") ? Ending::vanish : Ending::succeed;
  };
  FakeExecutor executor = study.make_executor(4);
  study.run(executor);
  CHECK(study.observer.submissions == std::vector<AttemptKey>{study.warmup(0, 1, 1), study.warmup(0, 1, 2), study.key(0, 1)});
}

TEST_CASE("warm-ups that nothing needs are left out") {
  SUBCASE("all repeats have ended") {
    StudyFixture study(1, 2, 1);
    study.observer.journal = {{study.key(0, 1), State::succeeded}, {study.key(0, 2), State::failed}};
    FakeExecutor executor = study.make_executor();
    const auto dispatcher = study.make_dispatcher(executor);
    CHECK_FALSE(dispatcher->step());
    CHECK(dispatcher->counts().asked == 2);
    CHECK(executor.requests.empty());
  }
  SUBCASE("the executor sends jobs to other nodes") {
    StudyFixture study(1, 1, 1);
    FakeExecutor executor = study.make_executor();
    executor.here = false;
    study.run(executor);
    CHECK(study.observer.submissions == std::vector<AttemptKey>{study.key(0, 1)});
    CHECK(study.observer.notes.empty());  // the plan says so, once
  }
}

TEST_CASE("cancel revokes what waits and ends what runs") {
  StudyFixture study(3, 1);
  FakeExecutor executor = study.make_executor(1);
  const auto dispatcher = study.make_dispatcher(executor);
  dispatcher->step();
  FakeExecutor other = study.make_executor(1);
  const CancelCounts counts = cancel_attempts(study.results, study.observer.known(), other, study.make_events());
  CHECK(counts.asked.size() == 1);
  CHECK(counts.revoked == 2);
  CHECK(other.cancelled.back() == study.folder(study.key(0, 1)));  // after those that wait
  CHECK(study.observer.journal[study.key(1, 1)] == State::cancelled);

  // The campaign that goes on hands them over all the same: the jobs find their claims taken, and nothing is tried again.
  while (dispatcher->step()) executor.wait(1);
  CHECK(study.machine.executed.size() == 1);
  CHECK(study.observer.journal.size() == 3);
  CHECK(study.observer.journal[study.key(2, 1)] == State::cancelled);
  CHECK(dispatcher->counts().ended == 3);

  FakeExecutor next = study.make_executor();
  CHECK(study.run(next) == 1);
  CHECK(cancel_attempts(study.results, study.observer.known(), other, study.make_events()).revoked == 0);
}

namespace {

/// Its jobs end `looks` looks after they were asked to, if ever.
class SlowToEnd : public FakeExecutor {
 public:
  SlowToEnd(FakeMachine& machine, Clock& clock, int looks)
      : FakeExecutor(machine, clock, 1), jobs_(machine), time_(clock), looks_(looks) {}
  void wait(double seconds) override { time_.sleep(seconds); }
  void cancel(const std::string& folder, const std::string& /*job*/) override { cancelled.push_back(folder); }
  JobStatus status(const std::string& folder, const std::string& job) override {
    FakeMachine::Job* const alive = jobs_.find_alive(folder);
    if (!cancelled.empty() && alive != nullptr && looks_-- == 0) jobs_.end(*alive, ending);
    return FakeExecutor::status(folder, job);
  }
  FakeMachine::Ending ending = FakeMachine::Ending::fail;

 private:
  FakeMachine& jobs_;
  Clock& time_;
  int looks_;
};

}  // namespace

TEST_CASE("a cancelled job is looked at until it has ended, or it is named") {
  StudyFixture study(1, 1);
  FakeExecutor executor = study.make_executor();
  study.make_dispatcher(executor)->step();
  const auto never = [] { return false; };
  const auto cancel = [&](SlowToEnd& other, const std::function<bool()>& stop) {
    const CancelCounts counts = cancel_attempts(study.results, study.observer.known(), other, study.make_events());
    REQUIRE(counts.asked.size() == 1);
    return await_ends(study.results, counts.asked, other, study.clock, 15, stop, study.make_events());
  };
  SUBCASE("one that takes its time") {
    SlowToEnd other(study.machine, study.clock, 10);
    CHECK(cancel(other, never).empty());
    CHECK(study.observer.journal[study.key(0, 1)] == State::failed);  // as its finished.json says
    CHECK(study.clock.monotonic_s() < 15);
  }
  SUBCASE("one that does not end") {
    SlowToEnd other(study.machine, study.clock, 1'000'000);
    const std::vector<CancelledJob> left = cancel(other, never);
    REQUIRE(left.size() == 1);
    CHECK(left[0].key == study.key(0, 1));
    CHECK(study.observer.journal[study.key(0, 1)] == State::submitted);
    CHECK(study.clock.monotonic_s() >= 15);
  }
  SUBCASE("one that ends without a word is lost, and what it left behind is ended") {
    SlowToEnd other(study.machine, study.clock, 3);
    other.ending = FakeMachine::Ending::vanish;
    CHECK(cancel(other, never).empty());
    CHECK(study.observer.journal[study.key(0, 1)] == State::lost);
    CHECK(other.cancelled.size() == 2);
  }
  SUBCASE("the person does not wait") {
    SlowToEnd other(study.machine, study.clock, 1'000'000);
    CHECK(cancel(other, [] { return true; }).size() == 1);
    CHECK(study.clock.monotonic_s() < 15);
  }
}

}  // namespace

}  // namespace hpcbench
