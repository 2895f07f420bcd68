#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/state.hpp"

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
  // Of one that ended, where the executor knows more than that. A finished.json comes before all of it.
  std::string job = {};                 // whose end that was
  std::optional<State> outcome = {};    // of the attempt if that job claimed it; absent: lost
  std::optional<State> unclaimed = {};  // of the attempt if nobody claimed it; absent: lost
  bool voids = false;                   // if nobody claimed it, it never ran, and its run gets another attempt
};

/// Attempts that are handed over in one call: elements `first`, `first` + 1 ... of a batch, whose script is on disk.
struct BatchRequest {
  std::string batch;
  int first = 0;
  std::vector<std::string> folders;  // absolute, of the attempts
};

/// What became of them.
struct BatchSubmission {
  enum class Kind {
    accepted,  // `jobs` holds each one's id
    refused,   // known: none was submitted, and none will be until something is mended
    later,     // known: none was submitted; `free_slots` says when to try again, and how many
    doubtful,  // they may have been submitted or not: `status` will tell
  };
  Kind kind = Kind::doubtful;
  std::vector<std::string> jobs = {};
  std::string text = {};
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

  /// Whether attempts of equal resources are handed over together, by submit_batch, instead of one by one.
  virtual bool in_batches() const { return false; }
  /// Most attempts of a batch.
  virtual int batch_limit() { return 1000; }
  virtual BatchSubmission submit_batch(const BatchRequest& /*request*/) { return {BatchSubmission::Kind::refused, {}, {}}; }
  /// Does at once what `cancel` may have put off.
  virtual void flush() {}
  /// Why no job of it can begin until a person has mended something; absent: as far as is known, they can.
  virtual std::optional<std::string> broken() const { return std::nullopt; }
  /// What its jobs wait for, for people; empty: nothing to say.
  virtual std::string waiting() { return {}; }
};

}  // namespace hpcbench
