#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "runfiles/claim.hpp"
#include "submit/executor.hpp"

namespace hpcbench {

/// The end of hpcbench at an arbitrary point: thrown by fakes, caught only by tests.
struct Crash : std::runtime_error {
  Crash() : std::runtime_error("crash") {}
};

/// Counts the points at which hpcbench may die and throws at the chosen one.
class FaultPoints {
 public:
  /// Dies at the `point`-th point from now on, counted from 0; negative: never.
  void arm(int point) { left_ = point; }
  /// Returns true once the armed point was reached.
  bool fired() const { return fired_; }
  void pass() {
    if (left_ < 0 || left_-- > 0) return;
    fired_ = true;
    throw Crash();
  }

 private:
  int left_ = -1;
  bool fired_ = false;
};

/// The home of fake jobs. It outlives executors, as jobs outlive hpcbench. Claims and finished.json are real files.
class FakeMachine {
 public:
  enum class Ending { succeed, fail, time_out, vanish, die_before_claim };
  struct Job {
    std::string folder;
    std::string id;
    std::string token;
    bool alive = true;
    bool claimed = false;
  };

  /// How the job of an attempt's folder ends.
  std::function<Ending(const std::string& folder)> ending = [](const std::string&) { return Ending::succeed; };
  /// Otherwise a job claims only when it ends, like a slow start.
  bool claims_at_once = true;
  std::vector<Job> jobs;
  std::map<std::string, int> started;   // submissions by folder
  std::map<std::string, int> executed;  // by folder: jobs that won their claim

  std::string start(const std::string& folder, const std::string& token) {
    jobs.push_back({folder, std::to_string(1000 + jobs.size()), token});
    ++started[folder];
    if (claims_at_once && ending(folder) != Ending::die_before_claim) claim(jobs.back());
    return jobs.back().id;
  }

  Job* find_alive(const std::string& folder) {
    for (Job& job : jobs) {
      if (job.folder == folder && job.alive) return &job;
    }
    return nullptr;
  }

  /// Ends the job that has run the longest. Returns false if none runs.
  bool end_oldest() {
    for (Job& job : jobs) {
      if (!job.alive) continue;
      end(job, ending(job.folder));
      return true;
    }
    return false;
  }

  void end(Job& job, Ending how) {
    if (how != Ending::die_before_claim && !job.claimed) claim(job);
    job.alive = false;
    if (!job.claimed || how == Ending::vanish) return;
    const std::string more = how == Ending::time_out ? ",\"timed_out\":true" : "";
    const std::string text = fmt::format("{{\"schema\":1,\"exit_code\":{}{}}}", how == Ending::succeed ? 0 : 1, more);
    write_file(job.folder + "/finished.json", text, Durability::none);
  }

 private:
  void claim(Job& job) {
    if (!try_claim(job.folder,
                   Claim{.revoked = false, .why = {}, .token = job.token, .job = job.id, .process = this_process()})) {
      job.alive = false;  // another job has it: it touches nothing
      return;
    }
    job.claimed = true;
    ++executed[job.folder];
  }
};

/// An executor on a FakeMachine. Like a real one it forgets everything when it is created again; the machine does not.
class FakeExecutor : public Executor {
 public:
  FakeExecutor(FakeMachine& machine, Clock& clock, int slots) : machine_(machine), clock_(clock), slots_(slots) {}

  bool here = true;  // the value of runs_here
  FaultPoints* faults = nullptr;
  /// The result of an attempt instead of being accepted, also for the attempts behind it.
  std::function<Submission::Kind(const std::string& folder)> answer;
  bool doubtful_starts = false;        // whether a doubtful one was started
  std::set<std::string> unseen;        // folders of jobs that are invisible from here
  std::vector<AttemptSpan> requests;   // in order
  std::vector<std::string> cancelled;  // folders, in order
  std::vector<std::string> adopted;
  int most_at_once = 0;

  std::string name() const override { return "fake"; }
  bool runs_here() const override { return here; }
  double end_patience_s() const override { return 15; }

  int free_slots() override {
    int used = 0;
    for (const FakeMachine::Job& job : machine_.jobs) used += job.alive && mine_.count(job.folder) != 0 ? 1 : 0;
    most_at_once = used > most_at_once ? used : most_at_once;
    return used < slots_ ? slots_ - used : 0;
  }

  Submission submit(const AttemptSpan& attempts) override {
    requests.push_back(attempts);
    Submission submission{Submission::Kind::accepted, {}, {}};
    for (const std::string& folder : attempts.folders) {
      pass();
      submission.kind = answer ? answer(folder) : Submission::Kind::accepted;
      if (submission.kind == Submission::Kind::doubtful && doubtful_starts) machine_.start(folder, attempts.batch);
      if (submission.kind != Submission::Kind::accepted) {
        submission.text = submission.kind == Submission::Kind::doubtful ? "no answer" : "no such queue";
        break;
      }
      submission.jobs.push_back(machine_.start(folder, attempts.batch));
      mine_.insert(folder);
      pass();
    }
    return submission;
  }

  JobStatus status(const std::string& folder, const std::string& /*job*/) override {
    if (unseen.count(folder) != 0) return {JobState::unknown, "host elsewhere"};
    return {machine_.find_alive(folder) != nullptr ? JobState::running : JobState::ended, {}};
  }

  void cancel(const std::string& folder, const std::string& /*job*/) override {
    pass();
    cancelled.push_back(folder);
    if (FakeMachine::Job* const job = machine_.find_alive(folder)) machine_.end(*job, FakeMachine::Ending::fail);
  }

  void adopt(const std::string& folder, const std::string& /*job*/) override {
    adopted.push_back(folder);
    mine_.insert(folder);
  }

  /// Advances time, and ends the oldest job.
  void wait(double seconds) override {
    clock_.sleep(seconds);
    machine_.end_oldest();
  }

 private:
  void pass() {
    if (faults != nullptr) faults->pass();
  }

  FakeMachine& machine_;
  Clock& clock_;
  int slots_;
  std::unordered_set<std::string> mine_;
};

}  // namespace hpcbench
