#include <doctest/doctest.h>

#include "slurm_study.hpp"

namespace hpcbench {

namespace {

// Four runs in two arrays of one batch, of one name, as no more than two may be queued: the first run has ended, the second
// waits, the third is submitted as an array of its own.
struct TwoArrays : SlurmStudy {
  explicit TwoArrays(bool same_id) : SlurmStudy(4, 1) {
    max_queued = 2;
    begin();
    rounds(3);
    slurm.finish(job(0, 1));
    if (same_id) {
      for (const int i : {0, 1}) FakeSlurm::forget(job(i, 1));
      slurm.next_id = job(1, 1).array;
    }
    rounds(10);
    REQUIRE(slurm.find(study.folder(study.key(2, 1, 1))) != nullptr);
    REQUIRE((job(2, 1).array == job(1, 1).array) == same_id);
    REQUIRE(job(2, 1).name == job(1, 1).name);
  }
};

TEST_CASE("slurm: an array that the controller lost is run again, also where other arrays of its batch are known") {
  TwoArrays test(false);
  for (const int i : {0, 1}) FakeSlurm::forget(test.job(i, 1));
  test.rounds(60);
  CHECK(test.has_attempt(1, 1, 2));
}

TEST_CASE("slurm: an array that was lost is run again, also where the next array of its batch was given its id") {
  TwoArrays test(true);
  test.rounds(60);
  CHECK(test.has_attempt(1, 1, 2));
}

TEST_CASE("slurm: a waiting element that vanishes from an array that is known was cancelled") {
  TwoArrays test(false);
  FakeSlurm::forget(test.job(1, 1));
  test.rounds(60);
  CHECK(test.state(1, 1) == State::cancelled);
  CHECK(!test.has_attempt(1, 1, 2));
}

TEST_CASE("slurm: a job that Slurm cancels on the node where it should begin was failed by the node") {
  SlurmStudy test(1, 1);
  test.slurm.canceller = 0;
  SUBCASE("with accounting") { test.slurm.accounting = true; }
  SUBCASE("without") { test.slurm.accounting = false; }
  test.begin();
  test.rounds(3);
  test.job(0, 1).nodes = "n3";
  FakeSlurm::end(test.job(0, 1), "CANCELLED", "None");
  test.rounds(3);
  CHECK(test.state(0, 1) == State::node_failure);
  REQUIRE(test.has_attempt(0, 1, 2));
  test.slurm.finish_all();
  CHECK(test.rounds(10));
  CHECK(test.state(0, 1, 2) == State::succeeded);
  CHECK(test.slurm.executed[test.job(0, 1).folder] == 0);
}

// A node that was told of a job which the controller has lost refuses the next one of that id, and has the id cancelled. One
// element of an array has the id of the whole array: then all of them end, those that wait and those that run.
TEST_CASE("slurm: after the controller lost jobs, one that is cancelled before it began, nobody knows by whom, is run again") {
  TwoArrays test(true);
  bool again = true;
  SUBCASE("without accounting") { test.slurm.accounting = false; }
  SUBCASE("unless accounting knows") { again = false; }
  test.rounds(60);
  for (const int i : {2, 3}) {  // they make room for its second attempt
    test.slurm.finish(test.job(i, 1));
    test.rounds(3);
  }
  FakeSlurm::end(test.job(1, 1, 2), "CANCELLED", "None");
  test.rounds(5);
  CHECK(test.has_attempt(1, 1, 3) == again);
  CHECK(test.state(1, 1, 2) == State::cancelled);
  CHECK((test.study.observer.settlements.back().reason.find("void: Slurm job ") == 0) == again);
}

TEST_CASE("slurm: after the controller lost jobs, one that had begun and is cancelled was failed by a node") {
  TwoArrays test(true);
  test.slurm.accounting = false;
  test.rounds(60);
  for (const int i : {2, 3}) {
    test.slurm.finish(test.job(i, 1));
    test.rounds(3);
  }
  test.slurm.start(test.job(1, 1, 2));
  test.rounds(2);
  FakeSlurm::end(test.job(1, 1, 2), "CANCELLED", "None");
  test.rounds(5);
  CHECK(test.state(1, 1, 2) == State::node_failure);
  CHECK(test.has_attempt(1, 1, 3));
}

TEST_CASE("slurm: long after the controller lost jobs, who cancels one that waits is a person again") {
  TwoArrays test(true);
  test.slurm.accounting = false;
  test.rounds(60);
  for (const int i : {2, 3}) {  // they make room for its second attempt
    test.slurm.finish(test.job(i, 1));
    test.rounds(3);
  }
  test.study.clock.sleep(600);
  FakeSlurm::end(test.job(1, 1, 2), "CANCELLED", "None");
  test.rounds(60);
  CHECK(test.state(1, 1, 2) == State::cancelled);
  CHECK(!test.has_attempt(1, 1, 3));
}

TEST_CASE("slurm: a job that somebody cancels while it waits is cancelled, and so is one that has begun") {
  SlurmStudy test(2, 1);
  test.slurm.accounting = false;
  test.begin();
  test.rounds(3);
  test.slurm.start(test.job(0, 1));
  for (const int i : {0, 1}) FakeSlurm::end(test.job(i, 1), "CANCELLED", "None");
  CHECK(test.rounds(3));
  for (const int i : {0, 1}) CHECK(test.state(i, 1) == State::cancelled);
}

}  // namespace

}  // namespace hpcbench
