// Blocks on a fake Slurm: what is handed over, and what becomes of it when an allocation ends early.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "base/files.hpp"
#include "runfiles/block_claim.hpp"
#include "runfiles/claim.hpp"
#include "slurm_study.hpp"
#include "submit/judge.hpp"

namespace hpcbench {

namespace {

struct BlockStudy : SlurmStudy {
  BlockStudy(int configurations, int repeats) : SlurmStudy(configurations, repeats) {
    study.experiment.allocation = Allocation::block;
    for (Configuration& configuration : study.plan.configurations) {
      auto work = std::make_shared<Work>(*configuration.work);
      work->resources.time_s = 100;
      configuration.work = work;
    }
  }
  FakeSlurm::Job& block(std::size_t number) { return slurm.jobs.at(number); }
  void finish_block(FakeSlurm::Job& job) {
    slurm.start_block(job);
    for (std::size_t i = 0; i < job.members.size(); ++i) slurm.finish_member(job, i);
    FakeSlurm::end(job, "COMPLETED", "None");
  }
  bool ended_once() {
    for (const auto& [folder, count] : slurm.executed) {
      if (count != 1) return false;
    }
    return true;
  }
  /// Until all have an outcome; whatever is submitted meanwhile runs to its end.
  bool finish_the_rest() {
    for (int i = 0; i < 300; ++i) {
      if (!dispatcher->step()) return true;
      for (std::size_t job = 0; job < slurm.jobs.size(); ++job) {
        if (slurm.jobs[job].state == "PENDING") finish_block(slurm.jobs[job]);
      }
      executor->wait(1);
    }
    return false;
  }
};

TEST_CASE("blocks: each repeat is one element of an array, with a claim for each of its attempts") {
  BlockStudy test(3, 2);
  test.begin();
  CHECK_FALSE(test.rounds(3));
  CHECK(test.slurm.calls["sbatch"] == 1);
  REQUIRE(test.slurm.jobs.size() == 2);
  CHECK(test.block(0).members.size() == 3);
  CHECK(test.executor->waiting() == "2 pending (2 Resources)");
  for (FakeSlurm::Job& job : test.slurm.jobs) test.finish_block(job);
  CHECK(test.rounds(100));
  CHECK(test.state(2, 2) == State::succeeded);
  CHECK(test.ended_once());
  CHECK(test.slurm.jobs.size() == 2);
}

TEST_CASE("blocks: of a block that ended early the rest is handed out again, what ran is judged by itself") {
  for (const char* const state : {"FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "CANCELLED"}) {
    CAPTURE(state);
    BlockStudy test(3, 1);
    test.begin();
    test.rounds(2);
    FakeSlurm::Job& job = test.block(0);
    test.slurm.start_block(job);
    test.slurm.finish_member(job, 0);
    test.slurm.start_member(job, 1);
    const std::string second = job.members[1];
    const std::string third = job.members[2];
    FakeSlurm::end(job, state, "None");
    CHECK(test.finish_the_rest());
    CHECK(test.ended_once());
    CHECK(read_claim(third)->why.starts_with("void: "));
    CHECK(test.slurm.executed.count(third.substr(0, third.size() - 1) + "2") == 1);
    // The one that ran is tried again as a run of its own would be; who cancels is a person.
    const bool again = test.slurm.executed.count(second.substr(0, second.size() - 1) + "2") == 1;
    CHECK(again == (std::string(state) != "CANCELLED"));
  }
}

TEST_CASE("blocks: one that never began is judged as a job of one run, and its claim is won first") {
  BlockStudy test(2, 2);
  test.begin();
  test.rounds(2);
  FakeSlurm::Job& job = test.block(0);
  const std::string batch = test.study.results + "/batches/" + job.token;
  FakeSlurm::forget(job);  // an element that is cancelled while it waits disappears
  CHECK_FALSE(test.rounds(120));
  CHECK(test.state(0, 1) == State::cancelled);
  CHECK(test.state(1, 1) == State::cancelled);
  CHECK(test.state(0, 2) == State::submitted);
  CHECK(test.slurm.executed.empty());
  CHECK(read_claim(block_folder(batch, 0))->revoked);
  test.slurm.start_block(job);  // a controller that lost its last seconds starts it after all
  CHECK(job.state == "COMPLETED");
}

TEST_CASE("blocks: one that began and then did nothing costs its first attempt a retry: it is not submitted for ever") {
  BlockStudy test(2, 1);
  test.begin();
  int submitted = 0;
  for (int i = 0; i < 1000 && test.dispatcher->step(); ++i) {
    for (FakeSlurm::Job& job : test.slurm.jobs) {
      if (job.state != "PENDING") continue;
      ++submitted;
      test.slurm.start_block(job);
      FakeSlurm::end(job, "FAILED", "NonZeroExitCode");
    }
    test.executor->wait(1);
  }
  CHECK(submitted <= 6);  // three for each run
  CHECK(test.slurm.executed.empty());
}

TEST_CASE("blocks: a launcher on a lost node finds the claims of what was handed out again taken") {
  BlockStudy test(3, 1);
  test.begin();
  test.rounds(2);
  const std::size_t lost = 0;
  test.slurm.start_block(test.block(lost));
  test.slurm.finish_member(test.block(lost), 0);
  test.slurm.start_member(test.block(lost), 1);
  FakeSlurm::end(test.block(lost), "NODE_FAIL", "None");
  test.rounds(3);
  CHECK_FALSE(test.slurm.start_member(test.block(lost), 2));
  CHECK(test.finish_the_rest());
  CHECK(test.ended_once());
}

TEST_CASE("blocks: the queue holds max_queued blocks, and a later call goes on with what was not handed over") {
  BlockStudy test(3, 4);
  test.max_queued = 2;
  test.begin();
  test.rounds(2);
  CHECK(test.slurm.jobs.size() == 2);
  test.begin();
  test.dispatcher->recover(test.study.observer.known());
  CHECK(test.finish_the_rest());
  CHECK(test.slurm.jobs.size() == 4);
  CHECK(test.slurm.executed.size() == 12);
  CHECK(test.ended_once());
}

TEST_CASE("blocks: to cancel one attempt leaves the job to the others, to cancel all of a waiting one ends it") {
  BlockStudy test(3, 1);
  test.begin();
  test.rounds(2);
  FakeSlurm::Job& job = test.block(0);
  const auto cancel = [&](std::size_t place) {
    CHECK(seize_attempt(job.members[place], revoke_attempt("cancelled before it began")));
    test.executor->cancel(job.members[place], "");
    test.executor->flush();
  };
  cancel(0);
  cancel(1);
  CHECK(job.state == "PENDING");
  cancel(2);
  CHECK(job.state == "CANCELLED");
}

TEST_CASE("blocks: an attempt that runs is asked to end by a word to its launcher") {
  BlockStudy test(2, 1);
  test.begin();
  test.rounds(2);
  FakeSlurm::Job& job = test.block(0);
  test.slurm.start_block(job);
  test.slurm.start_member(job, 0);
  test.rounds(2);
  test.executor->cancel(job.members[0], "");
  test.executor->flush();
  CHECK(read_file_if_there(job.members[0] + "/cancel_requested").has_value());
  CHECK(test.slurm.argvs.back().at(2) == "--signal=USR2");
  CHECK(job.state == "RUNNING");
}

/// A block begins, if it has not, finishes so many of its attempts, begins another, and ends so.
void end_block_early(BlockStudy& test, FakeSlurm::Job& job, std::size_t finished, const std::string& state) {
  if (phase_of(job.state) == JobState::ended) return;
  if (job.state == "PENDING") test.slurm.start_block(job);
  if (phase_of(job.state) == JobState::ended) return;  // it found its claim taken
  for (std::size_t i = 0; i < std::min(finished, job.members.size()); ++i) test.slurm.finish_member(job, i);
  if (finished < job.members.size()) test.slurm.start_member(job, finished);
  FakeSlurm::end(job, state, "None");
}

TEST_CASE("blocks: many deaths of hpcbench, of submissions and of allocations") {
  CHECK(rc::check("each attempt executes at most once, each run succeeds", [] {
    BlockStudy test(3, 2);
    test.study.experiment.retries = {.lost = 50, .node_failure = 50, .preempted = 50};
    test.slurm.accounting = *rc::gen::arbitrary<bool>();
    if (*rc::gen::arbitrary<bool>()) test.max_queued = 1;
    const auto points = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 12));
    test.draw_faults();
    for (const int point : points) {
      FaultPoints faults;
      faults.arm(point);
      test.slurm.faults = test.study.observer.faults = &faults;
      test.study.observer.late = *rc::gen::arbitrary<bool>();
      try {
        test.begin();
        test.rounds(*rc::gen::inRange(1, 50));
      } catch (const Crash&) {
      }
      if (test.slurm.jobs.empty()) continue;
      const auto job = *rc::gen::inRange<std::size_t>(0, test.slurm.jobs.size());
      const auto state = *rc::gen::element<std::string>("FAILED", "COMPLETED", "TIMEOUT", "NODE_FAIL", "PREEMPTED");
      end_block_early(test, test.slurm.jobs[job], *rc::gen::inRange<std::size_t>(0, 4), state);
    }
    test.slurm.faults = test.study.observer.faults = nullptr;
    test.study.observer.late = false;
    test.begin();
    bool done = false;
    for (int i = 0; i < 60 && !done; ++i) {
      done = test.rounds(60);
      for (FakeSlurm::Job& job : test.slurm.jobs) {
        if (job.state == "PENDING") test.finish_block(job);
      }
    }
    RC_ASSERT(done);
    for (const auto& [folder, times] : test.slurm.executed) RC_ASSERT(times == 1);
    std::map<std::string, State> last;  // of each run: the journal is in the order of attempts
    for (const auto& [key, state] : test.study.observer.journal) last[key.config_id + to_string(key.run)] = state;
    RC_ASSERT(last.size() == 6U);
    for (const auto& [run, state] : last) RC_ASSERT(state == State::succeeded);
  }));
}

}  // namespace

}  // namespace hpcbench
