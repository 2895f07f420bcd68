#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "base/error.hpp"
#include "fakes/fake_tool_runner.hpp"
#include "runner/submit/study_fixture.hpp"
#include "submit/attempt_batch.hpp"
#include "submit/slurm_executor.hpp"

namespace hpcbench {

namespace {

using Fault = FakeSlurm::Fault;

/// A study on a fake Slurm. Each `begin` is a new hpcbench; study and Slurm outlive it.
struct SlurmStudy {
  explicit SlurmStudy(int configurations = 2, int repeats = 2) : study(configurations, repeats) {
    study.context.executor = "slurm";
    study.context.array_template = read_file(HPCBENCH_SOURCE_DIR "/templates/slurm_array.sh.mustache");
  }

  SlurmExecutor& begin() {
    campaign.reset();
    SlurmSettings settings;
    settings.experiment = "study";
    settings.results = study.results;
    settings.max_queued = max_queued;
    executor = std::make_unique<SlurmExecutor>(settings, slurm, study.clock,
                                               [this](const std::string& text) { study.observer.notes.push_back(text); });
    campaign = study.make_campaign(*executor);
    return *executor;
  }
  /// Rounds of one second. True when every run has an outcome.
  bool rounds(int count) {
    for (int i = 0; i < count; ++i) {
      if (!campaign->step()) return true;
      executor->wait(1);
    }
    return false;
  }
  State state(int configuration, int repeat, int attempt = 1) {
    return study.observer.journal[study.key(configuration, repeat, attempt)];
  }
  FakeSlurm::Job& job(int configuration, int repeat, int attempt = 1) {
    FakeSlurm::Job* const found = slurm.find(study.folder(study.key(configuration, repeat, attempt)));
    REQUIRE(found != nullptr);
    return *found;
  }
  bool has_attempt(int configuration, int repeat, int attempt) const {
    return study.observer.journal.count(study.key(configuration, repeat, attempt)) != 0;
  }
  bool noted(const std::string& text) const {
    return std::any_of(study.observer.notes.begin(), study.observer.notes.end(),
                       [&](const std::string& note) { return note.find(text) != std::string::npos; });
  }

  StudyFixture study;
  FakeSlurm slurm;
  std::optional<int> max_queued;
  std::unique_ptr<SlurmExecutor> executor;
  std::unique_ptr<Campaign> campaign;
};

TEST_CASE("slurm: attempts of equal resources are one array, and end with their finished.json") {
  SlurmStudy test(3, 2);
  test.begin();
  CHECK_FALSE(test.rounds(3));
  CHECK(test.slurm.calls["sbatch"] == 1);
  CHECK(test.slurm.jobs.size() == 6);
  test.slurm.finish(test.job(0, 1), 1);
  test.slurm.finish_all();
  CHECK(test.rounds(100));
  CHECK(test.state(0, 1) == State::failed);
  CHECK(test.state(2, 2) == State::succeeded);
  CHECK(test.slurm.calls["sacct"] == 0);  // squeue told all
  CHECK(read_open_batches(test.study.results).empty());
}

TEST_CASE("slurm: unequal resources are arrays of their own") {
  SlurmStudy test(2, 2);
  test.study.plan.configurations[1].nodes = 2;
  test.begin();
  test.rounds(2);
  CHECK(test.slurm.calls["sbatch"] == 2);
  CHECK(test.job(0, 1).array == test.job(0, 2).array);
  CHECK(test.job(0, 1).array != test.job(1, 1).array);
}

TEST_CASE("slurm: polls grow rarer while nothing changes, up to a minute") {
  SlurmStudy test(1, 1);
  test.begin();
  test.rounds(2);
  test.rounds(3600);
  // 5 % of the time since the last change: 20 + 20 ln(1200 / 20) + 2400 / 60 polls, about 142.
  CHECK(test.slurm.calls["squeue"] > 120);
  CHECK(test.slurm.calls["squeue"] < 160);
}

TEST_CASE("slurm: arrays hold at most MaxArraySize elements, and the queue max_queued jobs") {
  SlurmStudy test(10, 1);
  test.slurm.max_array_size = 4;
  test.max_queued = 6;
  test.begin();
  test.rounds(2);
  CHECK(test.slurm.jobs.size() == 6);
  for (const FakeSlurm::Job& job : test.slurm.jobs) CHECK(job.index < 4);
  for (int i = 0; i < 5; ++i) {
    test.slurm.finish_all();
    test.rounds(5);
  }
  CHECK(test.rounds(10));
  CHECK(test.slurm.jobs.size() == 10);
}

TEST_CASE("slurm: an array above a submit limit is halved; at size 1 it waits") {
  SlurmStudy test(8, 1);
  test.slurm.fault = [&](int size) {
    const auto queued = std::count_if(test.slurm.jobs.begin(), test.slurm.jobs.end(),
                                      [](const FakeSlurm::Job& job) { return phase_of(job.state) != SlurmPhase::ended; });
    return queued + size > 3 ? Fault::limit : Fault::none;
  };
  test.begin();
  test.rounds(5);
  CHECK(test.slurm.jobs.size() == 3);
  CHECK(test.noted("takes no more jobs"));
  for (int i = 0; i < 10; ++i) {
    test.slurm.finish_all();
    test.rounds(120);
  }
  CHECK(test.rounds(10));
  CHECK(test.slurm.jobs.size() == 8);
  for (const auto& [folder, times] : test.slurm.executed) CHECK(times == 1);
}

TEST_CASE("slurm: a busy controller is waited out with growing pauses, said once") {
  SlurmStudy test(2, 1);
  test.slurm.fault = [](int) { return Fault::busy; };
  test.begin();
  test.rounds(300);
  CHECK(test.slurm.calls["sbatch"] < 15);
  CHECK(std::count_if(test.study.observer.notes.begin(), test.study.observer.notes.end(),
                      [](const std::string& note) { return note.find("takes no jobs now") != std::string::npos; }) == 1);
  test.slurm.fault = [](int) { return Fault::none; };
  test.rounds(70);
  CHECK(test.slurm.jobs.size() == 2);
  CHECK_FALSE(test.has_attempt(0, 1, 2));
}

TEST_CASE("slurm: a refusal ends the call; the attempts keep their numbers") {
  SlurmStudy test(2, 1);
  test.slurm.fault = [](int) { return Fault::refuse; };
  test.begin();
  CHECK_THROWS_AS(test.rounds(2), UnavailableError);
  test.slurm.fault = [](int) { return Fault::none; };
  test.begin();
  test.rounds(2);
  CHECK(test.slurm.jobs.size() == 2);
  CHECK_FALSE(test.has_attempt(0, 1, 2));
}

TEST_CASE("slurm: a doubtful submission that was accepted is found by its name") {
  for (const Fault fault : {Fault::die_after, Fault::garbage, Fault::time_out_after}) {
    SlurmStudy test(2, 1);
    test.slurm.fault = [&](int) { return test.slurm.jobs.empty() ? fault : Fault::none; };
    test.begin();
    test.rounds(100);
    CHECK(test.slurm.calls["sbatch"] == 1);
    test.slurm.finish_all();
    CHECK(test.rounds(100));
    CHECK(test.slurm.calls["sbatch"] == 1);
    CHECK(test.state(0, 1) == State::succeeded);
  }
}

TEST_CASE("slurm: a doubtful submission that was not accepted is revoked after two complete answers 30 s apart") {
  for (const bool accounting : {true, false}) {
    SlurmStudy test(2, 1);
    test.slurm.accounting = accounting;
    bool first = true;
    test.slurm.fault = [&](int) { return std::exchange(first, false) ? Fault::die_before : Fault::none; };
    test.begin();
    test.slurm.squeue_down = true;
    test.rounds(300);
    CHECK_FALSE(test.has_attempt(0, 1, 2));  // no answer concludes nothing
    CHECK(test.noted("squeue does not answer"));
    test.slurm.squeue_down = false;
    test.rounds(60);
    const double seen_s = test.study.clock.monotonic_s();
    while (!test.has_attempt(0, 1, 2) && test.study.clock.monotonic_s() < seen_s + 200) test.rounds(1);
    REQUIRE(test.has_attempt(0, 1, 2));
    CHECK(read_claim(test.study.folder(test.study.key(0, 1)))->why.starts_with("void: "));
    test.rounds(3);
    test.slurm.finish_all();
    CHECK(test.rounds(100));
    CHECK(test.state(0, 1, 2) == State::succeeded);
    CHECK(test.slurm.executed.size() == 2);
  }
}

TEST_CASE("slurm: sacct that fails is no complete answer; an early record is none either") {
  SlurmStudy test(1, 1);
  test.slurm.fault = [](int) { return Fault::die_before; };
  test.slurm.sacct_down = true;
  test.begin();
  test.rounds(400);
  CHECK_FALSE(test.has_attempt(0, 1, 2));
  CHECK(test.noted("sacct does not answer"));
}

TEST_CASE("slurm: what Slurm says of a job that left no finished.json is its outcome") {
  SlurmStudy test(6, 1);
  test.begin();
  test.rounds(2);
  for (int i = 0; i < 5; ++i) test.slurm.start(test.job(i, 1));
  FakeSlurm::end(test.job(0, 1), "TIMEOUT", "TimeLimit");
  FakeSlurm::end(test.job(1, 1), "OUT_OF_MEMORY", "OutOfMemory");
  FakeSlurm::end(test.job(2, 1), "CANCELLED", "None");
  FakeSlurm::end(test.job(3, 1), "NODE_FAIL", "NodeDown");
  FakeSlurm::end(test.job(4, 1), "PREEMPTED", "None");
  FakeSlurm::end(test.job(5, 1), "FAILED", "JobLaunchFailure");
  test.rounds(5);
  CHECK(test.state(0, 1) == State::timeout);
  CHECK(test.state(1, 1) == State::out_of_memory);
  CHECK(test.state(2, 1) == State::cancelled);
  CHECK(test.study.observer.settlements.size() == 6);
  for (const auto& settlement : test.study.observer.settlements) {
    if (settlement.state == State::cancelled) CHECK(settlement.reason.find("by 1000") != std::string::npos);
  }
  CHECK(test.state(3, 1) == State::node_failure);
  CHECK(test.state(4, 1) == State::preempted);
  CHECK(test.state(5, 1) == State::failed);
  CHECK(test.has_attempt(3, 1, 2));
  CHECK(test.has_attempt(4, 1, 2));
  CHECK_FALSE(test.has_attempt(5, 1, 2));
}

TEST_CASE("slurm: a job that completed without finished.json is lost after a minute, not before") {
  SlurmStudy test(1, 1);
  test.begin();
  test.rounds(2);
  test.slurm.start(test.job(0, 1));
  FakeSlurm::end(test.job(0, 1), "COMPLETED", "None");
  test.rounds(50);
  CHECK(test.state(0, 1) == State::submitted);
  SUBCASE("it comes late") {
    write_file(test.job(0, 1).folder + "/finished.json", "{\"schema\":1,\"exit_code\":0}", Durability::none);
    CHECK(test.rounds(30));
    CHECK(test.state(0, 1) == State::succeeded);
  }
  SUBCASE("it never comes") {
    test.rounds(30);
    CHECK(test.state(0, 1) == State::lost);
    CHECK(test.has_attempt(0, 1, 2));
  }
}

TEST_CASE("slurm: a waiting element that vanishes was cancelled; a whole array that vanishes was lost by the controller") {
  SlurmStudy test(2, 1);
  test.begin();
  test.rounds(3);
  FakeSlurm::forget(test.job(0, 1));
  SUBCASE("one") {
    test.rounds(60);
    CHECK(test.state(0, 1) == State::cancelled);
    CHECK_FALSE(test.has_attempt(0, 1, 2));
  }
  SUBCASE("all") {
    FakeSlurm::forget(test.job(1, 1));
    test.rounds(60);
    CHECK(test.has_attempt(0, 1, 2));
    CHECK(test.has_attempt(1, 1, 2));
    CHECK(test.job(0, 1, 2).array != test.job(0, 1).array);
  }
}

TEST_CASE("slurm: an array that was cancelled as a whole while it waited is a job without index") {
  SlurmStudy test(2, 1);
  test.begin();
  test.rounds(3);
  for (const int i : {0, 1}) FakeSlurm::forget(test.job(i, 1));
  FakeSlurm::Job whole = test.job(0, 1);
  whole.index = -1;
  whole.folder.clear();
  whole.state = "CANCELLED";
  whole.in_squeue = true;
  test.slurm.jobs.push_back(whole);
  CHECK(test.rounds(5));
  CHECK(test.state(0, 1) == State::cancelled);
  CHECK_FALSE(test.has_attempt(1, 1, 2));
}

TEST_CASE("slurm: a job that comes back after it was given up touches nothing and is cancelled") {
  SlurmStudy test(2, 1);
  test.begin();
  test.rounds(3);
  for (const int i : {0, 1}) FakeSlurm::forget(test.job(i, 1));
  test.rounds(60);
  test.job(0, 1).in_squeue = true;
  test.rounds(10);
  CHECK(test.job(0, 1).state == "CANCELLED");
  test.slurm.start(test.job(1, 1));
  CHECK(test.slurm.executed.empty());
}

TEST_CASE("slurm: a running job that Slurm forgets is lost unless it left its result; a signal from outside is told") {
  SlurmStudy test(3, 1);
  test.slurm.accounting = false;
  test.begin();
  test.rounds(3);
  for (const int i : {0, 1, 2}) test.slurm.start(test.job(i, 1));
  test.rounds(3);
  test.slurm.finish(test.job(1, 1));
  write_file(test.job(2, 1).folder + "/stopped", "TERM\n", Durability::none);
  for (const int i : {0, 1, 2}) FakeSlurm::forget(test.job(i, 1));
  test.rounds(10);
  CHECK(test.state(1, 1) == State::succeeded);
  CHECK(test.state(0, 1) == State::submitted);
  test.rounds(60);
  CHECK(test.state(0, 1) == State::lost);
  CHECK(test.state(2, 1) == State::cancelled);
}

TEST_CASE("slurm: finished.json decides, also where Slurm still takes the job for running") {
  SlurmStudy test(1, 1);
  test.begin();
  test.rounds(3);
  test.slurm.finish(test.job(0, 1));
  test.job(0, 1).state = "RUNNING";
  CHECK(test.rounds(5));
  CHECK(test.state(0, 1) == State::succeeded);
}

TEST_CASE("slurm: reused ids fool nobody") {
  SlurmStudy test(1, 1);
  test.begin();
  test.rounds(3);
  // After a crash of the controller somebody else's job has our id.
  test.job(0, 1).name = "study.0000000000000000";
  test.rounds(60);
  CHECK(test.has_attempt(0, 1, 2));
  CHECK(test.job(0, 1).state == "PENDING");
}

TEST_CASE("slurm: what waits for ever is said once") {
  SlurmStudy test(2, 1);
  test.begin();
  test.rounds(2);
  for (const int i : {0, 1}) test.job(i, 1).reason = "PartitionDown";
  test.rounds(30);
  CHECK(std::count_if(test.study.observer.notes.begin(), test.study.observer.notes.end(),
                      [](const std::string& note) { return note.find("PartitionDown") != std::string::npos; }) == 1);
  CHECK(test.executor->waiting() == "2 pending (2 PartitionDown)");
}

TEST_CASE("slurm: cancel revokes what waits, ends what runs, by name and id") {
  SlurmStudy test(3, 1);
  test.begin();
  test.rounds(3);
  test.slurm.start(test.job(0, 1));
  test.slurm.finish(test.job(1, 1));
  SlurmSettings settings;
  settings.experiment = "study";
  settings.results = test.study.results;
  SlurmExecutor other(settings, test.slurm, test.study.clock, [](const std::string&) {});
  const CancelCounts counts = cancel_attempts(test.study.results, test.study.observer.known(), other, test.study.observer);
  CHECK(counts.running == 1);
  CHECK(counts.revoked == 1);
  CHECK(test.job(0, 1).state == "CANCELLED");
  CHECK(test.job(2, 1).state == "CANCELLED");
  CHECK(std::filesystem::exists(test.job(0, 1).folder + "/cancel_requested"));
  CHECK(test.rounds(60));
  CHECK(test.state(0, 1) == State::cancelled);
  CHECK(test.state(1, 1) == State::succeeded);
  CHECK(test.state(2, 1) == State::cancelled);
}

TEST_CASE("slurm: hpcbench may die at each point between intent, sbatch and id") {
  for (const bool late : {true, false}) {
    for (const bool accounting : {true, false}) {
      bool crashed = true;
      for (int point = 0; crashed; ++point) {
        CAPTURE(point);
        SlurmStudy test(2, 2);
        test.slurm.accounting = accounting;
        FaultPoints faults;
        faults.arm(point);
        test.slurm.faults = &faults;
        test.study.observer.faults = &faults;
        test.study.observer.late = late;
        try {
          test.begin();
          test.rounds(3);
          test.slurm.finish_all();
          test.rounds(100);
        } catch (const Crash&) {
        }
        crashed = faults.fired();
        test.slurm.faults = nullptr;
        test.study.observer.faults = nullptr;
        test.study.observer.late = false;
        test.begin();
        bool done = false;
        for (int i = 0; i < 20 && !done; ++i) {
          done = test.rounds(20);
          test.slurm.finish_all();
        }
        CHECK(done);
        for (const auto& [folder, times] : test.slurm.executed) CHECK(times == 1);
        CHECK(test.slurm.executed.size() == 4);
      }
    }
  }
}

TEST_CASE("slurm: many deaths, faults of sbatch and restarts") {
  CHECK(rc::check("exactly once", [] {
    SlurmStudy test(3, 2);
    test.slurm.accounting = *rc::gen::arbitrary<bool>();
    test.study.experiment.retries.lost = 0;
    const auto points = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 12));
    const auto kinds = *rc::gen::container<std::vector<int>>(20, rc::gen::inRange(0, 8));
    std::size_t submission = 0;
    test.slurm.fault = [&](int) {
      const auto fault = submission < kinds.size() ? static_cast<Fault>(kinds[submission++]) : Fault::none;
      return fault == Fault::refuse ? Fault::none : fault;
    };
    for (const int point : points) {
      FaultPoints faults;
      faults.arm(point);
      test.slurm.faults = &faults;
      test.study.observer.faults = &faults;
      test.study.observer.late = *rc::gen::arbitrary<bool>();
      try {
        test.begin();
        test.rounds(*rc::gen::inRange(1, 50));
      } catch (const Crash&) {
      }
      if (*rc::gen::arbitrary<bool>() && !test.slurm.jobs.empty()) test.slurm.finish(test.slurm.jobs.front());
    }
    test.slurm.faults = nullptr;
    test.study.observer.faults = nullptr;
    test.study.observer.late = false;
    test.begin();
    bool done = false;
    for (int i = 0; i < 60 && !done; ++i) {
      done = test.rounds(60);
      test.slurm.finish_all();
    }
    RC_ASSERT(done);
    for (const auto& [folder, times] : test.slurm.executed) RC_ASSERT(times == 1);
    RC_ASSERT(test.slurm.executed.size() == 6U);
  }));
}

}  // namespace

}  // namespace hpcbench
