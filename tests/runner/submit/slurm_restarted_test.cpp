#include <doctest/doctest.h>

#include <array>
#include <ctime>

#include "slurm_study.hpp"

namespace hpcbench {

namespace {

// The controller is killed and started again, and so is hpcbench: this call has seen no id that is given out again. Then a job
// is cancelled. The batch on disk is of now, by the clock of this machine.
struct Restarted : SlurmStudy {
  Restarted() : SlurmStudy(2, 1) {
    slurm.accounting = false;
    begin();
    rounds(3);
    begin();
    rounds(3);
    for (const int i : {0, 1}) times(i, start_s + 10, start_s + 30);
    restart(start_s);
  }

  static std::string text(std::time_t unix_s) {
    std::tm local{};
    ::localtime_r(&unix_s, &local);
    std::array<char, 32> written{};
    std::strftime(written.data(), written.size(), "%Y-%m-%dT%H:%M:%S", &local);
    return written.data();
  }
  void restart(std::time_t unix_s) { slurm.controller_start = text(unix_s); }
  void times(int configuration, std::time_t submitted, std::time_t ended) {
    job(configuration, 1).times = fmt::format("JobId=7 SubmitTime={} EligibleTime={} EndTime={} Deadline=N/A\n",
                                              text(submitted), text(submitted), text(ended));
  }
  /// squeue goes on to say why it waited.
  void cancel(int configuration) { FakeSlurm::end(job(configuration, 1), "CANCELLED", "ReqNodeNotAvail"); }

  std::time_t start_s = std::time(nullptr) + 60;
};

TEST_CASE("slurm: what is cancelled soon after the controller was started again, nobody knows by whom, is run again") {
  Restarted test;
  test.slurm.start(test.job(0, 1));
  test.rounds(3);
  for (const int i : {0, 1}) test.cancel(i);
  test.rounds(5);
  CHECK(test.state(0, 1) == State::node_failure);
  for (const int i : {0, 1}) REQUIRE(test.has_attempt(i, 1, 2));
  test.slurm.finish_all();
  CHECK(test.rounds(60));
  for (const int i : {0, 1}) CHECK(test.state(i, 1, 2) == State::succeeded);
  CHECK(test.slurm.executed[test.job(1, 1).folder] == 0);
}

TEST_CASE("slurm: a cancel by a person counts, though the controller was started again") {
  Restarted test;
  SUBCASE("before the study began") { test.restart(std::time(nullptr) - 600); }
  SUBCASE("where the job had been submitted before") { test.times(1, test.start_s - 20, test.start_s + 30); }
  SUBCASE("long after") { test.times(1, test.start_s + 10, test.start_s + 1000); }
  SUBCASE("where accounting names the person") { test.slurm.accounting = true; }
  SUBCASE("where it does not say when") { test.slurm.controller_start = "(null)"; }
  SUBCASE("by hpcbench cancel") {
    test.slurm.start(test.job(1, 1));
    write_file(test.job(1, 1).folder + "/cancel_requested", "", Durability::none);
  }
  SUBCASE("where Slurm has forgotten the job's times") { test.job(1, 1).times = "Invalid job id specified\n"; }
  test.begin();
  test.cancel(1);
  test.rounds(5);
  CHECK(test.state(1, 1) == State::cancelled);
  CHECK(!test.has_attempt(1, 1, 2));
}

TEST_CASE("slurm: accounting names root where a node had a job cancelled") {
  Restarted test;
  test.slurm.accounting = true;
  test.slurm.canceller = 0;
  test.begin();
  test.cancel(1);
  test.rounds(5);
  CHECK(test.has_attempt(1, 1, 2));
}

TEST_CASE("slurm: after the controller was started again accounting gets its time to say who cancelled") {
  Restarted test;
  test.slurm.accounting = true;
  test.job(1, 1).in_sacct = false;
  test.begin();
  test.cancel(1);
  test.rounds(20);
  CHECK(test.state(1, 1) == State::submitted);
  bool again = true;
  SUBCASE("it does") {
    test.job(1, 1).in_sacct = true;
    again = false;
  }
  SUBCASE("it never does") {}
  test.rounds(60);
  CHECK(test.has_attempt(1, 1, 2) == again);
}

TEST_CASE("slurm: of a job that somebody cancelled nothing is concluded while scontrol fails") {
  Restarted test;
  test.slurm.scontrol_down = true;
  test.cancel(1);
  test.rounds(100);
  CHECK(test.state(1, 1) == State::submitted);
  CHECK(test.noted("scontrol does not answer"));
  test.slurm.scontrol_down = false;
  test.rounds(5);
  CHECK(test.has_attempt(1, 1, 2));
}

}  // namespace

}  // namespace hpcbench
