#include <doctest/doctest.h>

#include "slurm_study.hpp"

namespace hpcbench {

namespace {

TEST_CASE("slurm: what Slurm says of a job that left no finished.json is its outcome") {
  SlurmStudy test(7, 1);
  test.begin();
  test.rounds(2);
  for (int i = 0; i < 5; ++i) test.slurm.start(test.job(i, 1));
  FakeSlurm::end(test.job(0, 1), "TIMEOUT", "TimeLimit");
  FakeSlurm::end(test.job(1, 1), "OUT_OF_MEMORY", "OutOfMemory");
  FakeSlurm::end(test.job(2, 1), "CANCELLED", "None");
  FakeSlurm::end(test.job(3, 1), "NODE_FAIL", "NodeDown");
  FakeSlurm::end(test.job(4, 1), "PREEMPTED", "None");
  FakeSlurm::end(test.job(5, 1), "FAILED", "JobLaunchFailure");
  FakeSlurm::end(test.job(6, 1), "FAILED", "RaisedSignal:53(Real-time signal 19)");  // the same since Slurm 23.02
  test.rounds(5);
  CHECK(test.state(0, 1) == State::timeout);
  CHECK(test.state(1, 1) == State::out_of_memory);
  CHECK(test.state(2, 1) == State::cancelled);
  CHECK(test.study.observer.settlements.size() == 7);
  for (const auto& settlement : test.study.observer.settlements) {
    if (settlement.state == State::cancelled) CHECK(settlement.reason.find("CANCELLED by ") != std::string::npos);
    if (settlement.state == State::failed) CHECK(settlement.reason.find("(its folder must be there") != std::string::npos);
  }
  CHECK(test.state(3, 1) == State::node_failure);
  CHECK(test.state(4, 1) == State::preempted);
  CHECK(test.state(5, 1) == State::failed);
  CHECK(test.state(6, 1) == State::failed);
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

TEST_CASE("slurm: a program that ended in the grace of a preemption was preempted, though Slurm says that it failed") {
  SlurmStudy test(2, 1);
  test.slurm.accounting = false;
  test.begin();
  test.rounds(3);
  for (const int i : {0, 1}) {
    test.slurm.start(test.job(i, 1));
    write_file(test.job(i, 1).folder + "/stopped", "PREEMPTED\nwall_s 2.5\n", Durability::none);
  }
  FakeSlurm::end(test.job(0, 1), "FAILED", "NonZeroExitCode");
  FakeSlurm::forget(test.job(1, 1));
  test.rounds(60);
  CHECK(test.state(0, 1) == State::preempted);
  CHECK(test.state(1, 1) == State::preempted);
  CHECK(test.has_attempt(0, 1, 2));
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

}  // namespace

}  // namespace hpcbench
