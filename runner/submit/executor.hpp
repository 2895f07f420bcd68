#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hpcbench {

/// What an executor is handed for one attempt. Its folder holds run.json and job.sh already, durably.
struct JobRequest {
  std::string folder;  // absolute
  std::string token;   // batch id
  int gpus = 1;
  std::optional<double> time_s;
};

/// What became of a submission.
struct Submission {
  enum class Kind {
    accepted,  // `job` is the executor's id
    refused,   // known: nothing was started; `text` says why
    doubtful,  // may have been started or not
  };
  Kind kind = Kind::accepted;
  std::string job;
  std::string text;
};

/// What is known of a job that was accepted.
struct JobStatus {
  enum class Kind { active, ended, unknown };
  Kind kind = Kind::unknown;
  std::string text;  // the executor's word for it
};

/// Who starts jobs. `local` is the embedded default; Slurm comes beside it.
class Executor {
 public:
  virtual ~Executor() = default;
  /// As in reports and run.json: `local`.
  virtual std::string name() const = 0;
  /// How many more jobs it takes now.
  virtual int free_slots() = 0;
  virtual Submission submit(const JobRequest& request) = 0;
  /// Whether the job that claimed (or was submitted for) this attempt still runs. `job` may be empty after a crash between
  /// start and record: then only the claim in `folder` tells.
  virtual JobStatus status(const std::string& folder, const std::string& job) = 0;
  /// Asks it to end; harmless if it has.
  virtual void cancel(const std::string& folder, const std::string& job) = 0;
  /// A job found running after a restart of ours: it takes a slot.
  virtual void adopt(const std::string& folder, const std::string& job) = 0;
  /// Waits until something may have changed, at most `seconds`.
  virtual void wait(double seconds) = 0;
};

}  // namespace hpcbench
