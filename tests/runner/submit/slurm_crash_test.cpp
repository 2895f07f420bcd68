#include <doctest/doctest.h>

#include "slurm_study.hpp"
#include "submit/judge.hpp"

namespace hpcbench {

namespace {

TEST_CASE("slurm: cancel revokes what waits, ends what runs, by name and id") {
  SlurmStudy test(3, 1);
  test.begin();
  test.rounds(3);
  test.slurm.start(test.job(0, 1));
  test.slurm.finish(test.job(1, 1));
  SlurmSettings settings;
  settings.studies = {{"study", test.study.results}};
  SlurmExecutor other(settings, test.slurm, test.study.clock, [](const std::string&) {});
  const CancelCounts counts = cancel_attempts(test.study.results, test.study.observer.known(), other, test.study.make_events());
  CHECK(counts.asked.size() == 1);
  CHECK(counts.revoked == 1);
  CHECK(test.job(0, 1).state == "CANCELLED");
  CHECK(test.job(2, 1).state == "CANCELLED");
  CHECK(std::filesystem::exists(test.job(0, 1).folder + "/cancel_requested"));
  CHECK(test.rounds(60));
  CHECK(test.state(0, 1) == State::cancelled);
  CHECK(test.state(1, 1) == State::succeeded);
  CHECK(test.state(2, 1) == State::cancelled);
}

TEST_CASE("slurm: cancel of some of the runs that wait leaves the others in the queue") {
  SlurmStudy test(4, 1);
  test.begin();
  test.rounds(3);
  test.slurm.start(test.job(0, 1));
  std::vector<AttemptState> some = test.study.observer.known();
  std::erase_if(some,
                [&](const AttemptState& each) { return each.key != test.study.key(0, 1) && each.key != test.study.key(2, 1); });
  SlurmSettings settings;
  settings.studies = {{"study", test.study.results}};
  SlurmExecutor other(settings, test.slurm, test.study.clock, [](const std::string&) {});
  CHECK(cancel_attempts(test.study.results, some, other, test.study.make_events()).revoked == 1);
  CHECK(test.job(0, 1).state == "CANCELLED");
  CHECK(test.job(2, 1).state == "CANCELLED");
  CHECK(test.job(1, 1).state == "PENDING");
  CHECK(test.job(3, 1).state == "PENDING");
  // Of all that wait: by name, too, as ids come back after a controller's crash.
  cancel_attempts(test.study.results, test.study.observer.known(), other, test.study.make_events());
  CHECK(test.job(1, 1).state == "CANCELLED");
  CHECK(test.job(3, 1).state == "CANCELLED");
  CHECK(test.slurm.argvs.back().at(1).starts_with("--name=study."));
}

TEST_CASE("slurm: a job that scancel does not end is named, and one that it ends is not") {
  SlurmStudy test(2, 1);
  test.begin();
  test.rounds(3);
  for (const int i : {0, 1}) test.slurm.start(test.job(i, 1));
  SlurmSettings settings;
  settings.studies = {{"study", test.study.results}};
  SlurmExecutor other(settings, test.slurm, test.study.clock, [](const std::string&) {});
  const CancelCounts counts = cancel_attempts(test.study.results, test.study.observer.known(), other, test.study.make_events());
  REQUIRE(counts.asked.size() == 2);
  test.job(1, 1).state = "RUNNING";  // as one whose processes do not end
  const auto left = await_ends(
      test.study.results, counts.asked, other, test.study.clock, 25, [] { return false; }, test.study.make_events());
  REQUIRE(left.size() == 1);
  CHECK(left[0].key == test.study.key(1, 1));
  CHECK(!left[0].job.empty());
}

TEST_CASE("slurm: cancel says which jobs are gone, and that it cannot name those that wait without squeue") {
  SlurmStudy test(2, 1);
  test.begin();
  test.rounds(3);
  test.slurm.start(test.job(0, 1));
  SlurmSettings settings;
  settings.studies = {{"study", test.study.results}};
  std::vector<std::string> notes;
  SlurmExecutor other(settings, test.slurm, test.study.clock, [&](const std::string& text) { notes.push_back(text); });
  SUBCASE("gone") {
    FakeSlurm::forget(test.job(0, 1));
    const CancelCounts counts =
        cancel_attempts(test.study.results, test.study.observer.known(), other, test.study.make_events());
    REQUIRE(counts.asked.size() == 1);
    const double begin_s = test.study.clock.monotonic_s();
    CHECK(await_ends(
              test.study.results, counts.asked, other, test.study.clock, 25, [] { return false; }, test.study.make_events())
              .empty());
    CHECK(test.study.clock.monotonic_s() - begin_s < 5);
    CHECK(test.noted("is no longer known; `hpcbench run` settles it"));
    CHECK(notes.empty());
    test.rounds(60);
    CHECK(test.state(0, 1) == State::lost);
  }
  SUBCASE("without squeue") {
    test.slurm.squeue_down = true;
    CHECK(cancel_attempts(test.study.results, test.study.observer.known(), other, test.study.make_events()).revoked == 1);
    REQUIRE(notes.size() == 2);
    CHECK(notes[0].starts_with("squeue does not answer"));
    CHECK(notes[1] ==
          "without squeue's answer the jobs of 1 revoked run cannot be named for scancel: each leaves as soon as it begins");
    CHECK(test.job(1, 1).state == "PENDING");
  }
}

TEST_CASE("slurm: a run that goes on notices a cancel of another process within seconds, and asks squeue no more than it may") {
  SlurmStudy test(3, 1);
  test.begin();
  test.rounds(3);
  test.slurm.start(test.job(0, 1));
  test.rounds(1200);
  const int before = test.slurm.calls["squeue"];
  test.rounds(40);
  CHECK(test.slurm.calls["squeue"] - before <= 2);
  SlurmSettings settings;
  settings.studies = {{"study", test.study.results}};
  SlurmExecutor other(settings, test.slurm, test.study.clock, [](const std::string&) {});
  cancel_attempts(test.study.results, test.study.observer.known(), other, test.study.make_events());
  CHECK(test.rounds(3));
  for (const int i : {0, 1, 2}) CHECK(test.state(i, 1) == State::cancelled);
}

TEST_CASE("slurm: an attempt that was revoked has ended, also where that was not told") {
  SlurmStudy test(2, 1);
  test.begin();
  test.rounds(3);
  for (const int i : {0, 1}) {
    CHECK(try_claim(test.job(i, 1).folder, revoke_attempt("cancelled before it began").claim));
    FakeSlurm::forget(test.job(i, 1));
  }
  CHECK(test.rounds(3));
  CHECK(test.state(0, 1) == State::cancelled);
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
    test.draw_faults();
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
