#pragma once

#include <algorithm>
#include <csignal>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/host.hpp"
#include "base/process.hpp"
#include "runfiles/claim.hpp"
#include "runfiles/life.hpp"
#include "submit/executor.hpp"
#include "submit/job_processes.hpp"

namespace hpcbench {

/// An example: the minimum of an executor. It starts jobs on this machine by `setsid` and keeps no process handle: only an
/// attempt's folder shows whether its job runs. tests/runner/study/executors_test.cpp gives every executor the same tests.
class ToyExecutor : public Executor {
 public:
  /// `program`: hpcbench, whose `launch FOLDER` is a job.
  ToyExecutor(std::string program, int slots) : program_(std::move(program)), slots_(slots) {}

  std::string name() const override { return "toy"; }
  bool runs_here() const override { return true; }
  double end_patience_s() const override { return 15; }

  int free_slots() override {
    std::erase_if(active_, [](const std::string& folder) { return has_ended(folder); });
    return slots_ - static_cast<int>(active_.size());
  }

  Submission submit(const AttemptSpan& attempts) override {
    Submission submission{Submission::Kind::accepted, {}, {}};
    for (std::size_t i = 0; i < attempts.folders.size(); ++i) {
      const std::string& folder = attempts.folders[i];
      const ToolResult started =
          run_tool({.argv = {"setsid", "--fork", program_, "launch", folder},
                    .environment = {{"HPCBENCH_TOKEN", attempts.batch},
                                    {"HPCBENCH_HASH", i < attempts.hashes.size() ? attempts.hashes[i] : ""}},
                    .output_fd = 2});
      if (!started.succeeded()) return {Submission::Kind::refused, submission.jobs, describe(started)};
      submission.jobs.push_back("toy");
      begun_s_[folder] = monotonic_s();
      active_.insert(folder);
    }
    return submission;
  }

  /// Reports a job that this object started and that has no claim yet as about to have one. After a crash the caller claims the
  /// attempt itself: a job that starts later finds the claim and ends.
  JobStatus status(const std::string& folder, const std::string& /*job*/) override {
    const auto begun = begun_s_.find(folder);
    const bool may_begin = begun != begun_s_.end() && monotonic_s() < begun->second + kLongestStart && !read_claim(folder);
    return {may_begin || !has_ended(folder) ? JobState::running : JobState::ended, {}};
  }

  void cancel(const std::string& folder, const std::string& /*job*/) override {
    const std::optional<Claim> claim = read_claim(folder);
    if (claim && claim->process && !has_ended(folder)) signal_process(*claim->process, SIGTERM);
  }

  void adopt(const std::string& folder, const std::string& /*job*/) override { active_.insert(folder); }

  void wait(double seconds) override { system_clock().sleep(std::min(seconds, kInterval)); }

 private:
  static constexpr double kInterval = 0.05;
  static constexpr double kLongestStart = 10;

  /// Returns whether the job has ended: while its launcher lives, it holds a lock in the folder.
  static bool has_ended(const std::string& folder) { return !holds_life(folder).value_or(false); }

  std::string program_;
  int slots_;
  std::map<std::string, double> begun_s_;
  std::set<std::string> active_;
};

}  // namespace hpcbench
