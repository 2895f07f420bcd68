#pragma once

#include <csignal>
#include <string>
#include <unordered_map>

#include "base/files.hpp"
#include "base/host.hpp"
#include "submit/executor.hpp"

namespace hpcbench {

/// Starts each job here as `PROGRAM launch FOLDER`, in a session of its own that outlives us, with the token in
/// HPCBENCH_TOKEN. A job's id is its process id as text; the identity in its claim is unique for all time. What the
/// launch process itself says (nothing, if all is well) goes to batches/TOKEN/launch.log.
/// It catches SIGCHLD, so that waiting ends the moment a job does, also another object's.
class LocalExecutor : public Executor {
 public:
  /// `slots`: how many jobs run at a time, adopted ones among them.
  LocalExecutor(int slots, std::string program);
  /// Leaves the jobs alone.
  ~LocalExecutor() override;
  LocalExecutor(const LocalExecutor&) = delete;
  LocalExecutor& operator=(const LocalExecutor&) = delete;

  std::string name() const override { return "local"; }
  bool runs_here() const override { return true; }
  double end_patience_s() const override { return 15; }  // longer than a job takes from SIGTERM to its finished.json
  int free_slots() override;
  Submission submit(const AttemptSpan& attempts) override;
  JobStatus status(const std::string& folder, const std::string& job) override;
  /// SIGTERM to the launch process, which ends its processes; where that is gone, SIGKILL to what it left behind.
  void cancel(const std::string& folder, const std::string& job) override;
  void adopt(const std::string& folder, const std::string& job) override;
  /// Ends early when a job ends or SIGINT, SIGTERM or SIGHUP comes (also where the caller blocks these but here).
  void wait(double seconds) override;

 private:
  struct Job {
    int pid = 0;
    bool child = false;              // started by us: waitpid tells; else adopted
    std::string folder = {};         // of an adopted one
    Descriptor ends = Descriptor();  // readable when an adopted one has ended; -1 if not available
    bool ended = false;
    std::string text;  // how it ended
  };

  void refresh(Job& job);
  int output_for(const std::string& batch, const std::string& folder);

  int slots_;
  std::string program_;
  std::unordered_map<std::string, Job> jobs_;  // by folder; forgotten once their end is reported
  int running_ = 0;                            // of jobs_
  std::string output_batch_;                   // whose launch.log is open
  Descriptor output_;
  struct sigaction old_action_ {};
};

}  // namespace hpcbench
