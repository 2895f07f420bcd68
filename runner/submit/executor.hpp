#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/state.hpp"
#include "submit/job_state.hpp"

namespace hpcbench {

/// Attempts that are handed over in one call: elements `first`, `first` + 1 ... of a batch, one attempt or one block each.
/// Their folders hold run.json and job.sh already, durably.
struct AttemptSpan {
  std::string batch;
  int first = 0;
  std::vector<std::string> folders;  // absolute
  /// Of blocks how many of `folders` each element has, in order; empty: one each.
  std::vector<std::size_t> blocks = {};
  /// attempt_hash of each of `folders`.
  std::vector<std::string> hashes = {};

  int elements() const { return static_cast<int>(blocks.empty() ? folders.size() : blocks.size()); }
};

/// What became of them: those from the front that `jobs` names were taken, and `kind` says what holds of the rest.
struct Submission {
  enum class Kind {
    accepted,  // there is no rest
    refused,   // known: it was not submitted, and will not be until a person corrects something
    later,     // known: it was not submitted; `free_slots` says when to try again, and how many
    doubtful,  // it may have been submitted or not
  };
  Kind kind = Kind::doubtful;
  std::vector<std::string> jobs = {};  // the executor's ids
  std::string text = {};               // why there is a rest
};

/// What is known of a job that was accepted.
struct JobStatus {
  JobState state = JobState::unknown;
  std::string text;  // the executor's word for it
  // Of a job that ended, if the executor knows more. A finished.json comes before all of it.
  std::string job = {};                 // whose end that was
  std::optional<State> outcome = {};    // of the attempt if that job claimed it; absent: lost
  std::optional<State> unclaimed = {};  // of the attempt without a claim; absent: lost
  bool voids = false;                   // without a claim it never ran, and its run gets another attempt
  std::string log = {};                 // where it may have said why: a file in its batch's folder
  std::string out_of_reach = {};        // why no signal from here reaches it though it is active; empty: one does
  bool missing = false;                 // of one that counts as active: nobody knows it, and time will tell
};

/// Who starts jobs. `local` is the embedded default; Slurm comes beside it.
class Executor {
 public:
  virtual ~Executor() = default;
  /// As in reports and run.json: `local`.
  virtual std::string name() const = 0;
  /// How many more jobs (attempts, or blocks) it takes now.
  virtual int free_slots() = 0;
  /// Hands over at most `free_slots()` elements; `jobs` of the answer has an entry for each attempt.
  virtual Submission submit(const AttemptSpan& attempts) = 0;
  /// Whether the job that claimed (or was submitted for) this attempt still runs. `job` may be empty after a crash between
  /// start and record: then only the claim in `folder` tells.
  virtual JobStatus status(const std::string& folder, const std::string& job) = 0;
  /// Asks it to end; harmless if it has.
  virtual void cancel(const std::string& folder, const std::string& job) = 0;
  /// A job found running after a restart of ours takes a slot; one that was asked to end is watched until it has ended.
  virtual void adopt(const std::string& folder, const std::string& job) = 0;
  /// Waits until something may have changed, at most `seconds`.
  virtual void wait(double seconds) = 0;

  /// Whether jobs are processes of this host: what is not seen here does not run, what has ended writes nothing more, and a
  /// warm-up warms the machine of its repeats. Otherwise jobs wait in a queue and run elsewhere, and all that takes time to
  /// tell.
  virtual bool runs_here() const = 0;
  /// Most attempts, or blocks, of a batch.
  virtual int batch_limit() { return 1000; }
  /// Seconds that a job may take from `cancel` until its end is seen.
  virtual double end_patience_s() const = 0;
  /// Does at once what `cancel` may have put off.
  virtual void flush() {}
  /// Why no job of it can begin until a person corrects something; absent: as far as is known, jobs can begin.
  virtual std::optional<std::string> broken() const { return std::nullopt; }
  /// What its jobs wait for, for people; empty: nothing to say.
  virtual std::string waiting() { return {}; }
};

}  // namespace hpcbench
