#include <doctest/doctest.h>

#include <string>

#include "base/files.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "fakes/temporary_folder.hpp"
#include "slurm_study.hpp"

namespace hpcbench {

namespace {

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
                                      [](const FakeSlurm::Job& job) { return phase_of(job.state) != JobState::ended; });
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

TEST_CASE("slurm: an array that the controller has no room for is halved, and none so large is tried again") {
  SlurmStudy test(40, 1);
  std::vector<int> sizes;
  test.slurm.fault = [&](int size) {
    sizes.push_back(size);
    return size > 12 ? Fault::full : Fault::none;
  };
  test.begin();
  test.rounds(30);
  CHECK(test.slurm.jobs.size() == 40);
  CHECK(sizes == std::vector<int>{40, 20, 10, 10, 10, 10});
  CHECK(test.noted("no room for so many jobs"));
  CHECK_FALSE(test.has_attempt(0, 1, 2));
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

TEST_CASE("slurm: the log has each call with its answer, and an answer that comes again once") {
  const TemporaryFolder folder;
  open_log(folder / "hpcbench.log");
  SlurmStudy test(2, 1);
  test.begin();
  test.rounds(120);
  const std::size_t polls = static_cast<std::size_t>(test.slurm.calls["squeue"]);
  test.slurm.squeue_down = true;
  test.rounds(100);
  test.slurm.squeue_down = false;
  test.slurm.finish_all();
  test.rounds(200);
  close_log();
  const std::string log = read_file(folder / "hpcbench.log");
  std::size_t calls = 0;
  for (const std::string& line : split(log, '\n')) calls += line.find("] info call ") != line.npos ? 1 : 0;
  CHECK(calls == test.slurm.argvs.size());
  CHECK(log.find(" info call sbatch --parsable --array=0-1 ") != log.npos);
  CHECK(log.find(": exit status 0 after ") != log.npos);
  CHECK(log.find("output: 100\\n") != log.npos);
  CHECK(log.find("100_0|PENDING|Resources|") != log.npos);
  CHECK(log.find("exit status 1 after ") != log.npos);
  CHECK(log.find("errors: slurm_load_jobs error: Unable to contact slurm controller\\n") != log.npos);
  REQUIRE(polls > 2);
  CHECK(log.find(" info Slurm job 100_0 is PENDING\n") != log.npos);
  CHECK(log.find("the same answer as before\n") != log.npos);
}

}  // namespace

}  // namespace hpcbench
