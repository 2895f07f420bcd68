#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/tool_runner.hpp"
#include "executors/slurm/slurm_parse.hpp"
#include "submit/executor.hpp"
#include "submit/queue_pace.hpp"

namespace hpcbench {

struct SlurmSettings {
  struct Study {
    std::string experiment;
    std::string results;                  // absolute: .../results/EXPERIMENT
    std::optional<int> max_running = {};  // most of an array that run at a time
  };
  std::vector<Study> studies;     // one or more; no two with one name or one folder
  std::optional<int> max_queued;  // most of our jobs in the queue, those of all studies together
  double tool_timeout_s = 60;
};

/// Submits batches as arrays. A job is known by its name, EXPERIMENT.BATCH, and its index; ids are used again by Slurm after a
/// crash. One squeue, and where that does not tell all one sacct, serves all jobs of all studies in a poll; `status` answers
/// from the last one. Nothing is concluded from a tool that fails.
class SlurmExecutor : public Executor {
 public:
  /// `note` is told, once each, what a person should know: that Slurm does not answer, that a job will never start ...
  SlurmExecutor(SlurmSettings settings, ToolRunner& tools, Clock& clock, std::function<void(const std::string&)> note);

  std::string name() const override { return "slurm"; }
  bool runs_here() const override { return false; }
  /// Less than the time after which a job that no tool knows would count as gone.
  double end_patience_s() const override { return 25; }
  /// Most elements of an array, asked once.
  int batch_limit() override;
  /// 0 while a pause after a refusal for the time being lasts.
  int free_slots() override;
  /// By one sbatch: all of them, or none. The batch's script is on disk.
  Submission submit(const AttemptSpan& attempts) override;
  JobStatus status(const std::string& folder, const std::string& job) override;
  /// By name and id, with the next flush or wait. Leaves `cancel_requested` in the folder: then the job's own end says so.
  void cancel(const std::string& folder, const std::string& job) override;
  void flush() override;
  std::optional<std::string> broken() const override { return broken_; }
  void adopt(const std::string& folder, const std::string& job) override;
  /// Another process that called `hpcbench cancel` is a change, and each call notices it.
  void wait(double seconds) override;
  std::string waiting() override;

 private:
  struct Entry {
    std::string folder;
    std::string batch;
    std::string name;  // empty: its files do not say; then it is never found
    int index = -1;
    unsigned int user = 0;      // who handed it over
    bool in_block = false;      // others are in the same job
    std::string job;            // the id, once known
    std::string state, reason;  // as last seen
    bool seen_waiting = false;
    bool exit_asked = false;         // of a job that failed before it claimed
    std::optional<double> ended_s;   // when it was first seen to have ended
    std::optional<double> absent_s;  // since when complete answers lack it
    bool ended = false;              // `end` stands
    bool dead = false;               // nobody waits for it any more: should it appear, it is cancelled
    JobStatus end;
  };
  using Rows = std::map<std::string, std::unordered_map<int, SlurmJob>>;  // by name and index

  std::vector<std::string> expect(const AttemptSpan& attempts, const std::string& array);
  Entry& entry_of(const std::string& folder, const std::string& job);
  void identify(Entry& entry);
  /// Where the attempts of a batch are, as its files say.
  struct Places {
    std::unordered_map<std::string, int> element;   // of its array, by folder
    std::map<int, std::vector<std::string>> block;  // by element: the folders; empty where each attempt is an element
  };
  const Places& places_of(const Entry& entry);
  const SlurmSettings::Study& study_of(const std::string& folder) const;
  bool is_ours(const std::string& job_name) const;
  void poll();
  bool ask_squeue();
  bool ask_sacct();
  void look_without_squeue();
  bool notice_cancel();
  void conclude_revoked();
  const SlurmJob* find_row(const Rows& rows, const Entry& entry) const;
  static bool knows_array(const Rows& rows, const Entry& entry);
  void see(Entry& entry, const SlurmJob& row);
  void see_ended(Entry& entry, const SlurmJob& row);
  bool notice_missing_launcher(Entry& entry, const SlurmJob& row);
  void see_absent(Entry& entry, bool complete);
  bool is_shown(const Entry& entry);
  const ToolResult& config();
  void conclude_absent(Entry& entry);
  void conclude(Entry& entry, JobStatus end);
  // Of a controller that has lost jobs: slurm_losses.cpp.
  void forget_lost(const std::string& array);
  void note_new_id(const std::string& array);
  bool lost_jobs_lately() const;
  std::optional<bool> may_have_known_id(const std::string& job);
  bool has_batch_before(double unix_s) const;
  // Of an attempt in a block: slurm_blocks.cpp.
  bool block_began(const Entry& entry) const;
  bool block_is_over(const Entry& entry);
  void conclude_unbegun(Entry& entry, JobStatus end);
  std::string refusal_of_batch(const Entry& entry) const;
  void cancel_in_block(const Entry& entry, const SlurmJob* row, const std::string& id);
  void request_end(const std::string& folder);
  std::vector<std::string> take_waiting(const std::string& name, std::vector<std::string>& ids) const;
  int count_queued() const;
  void say_once(const std::string& kind, const std::string& text);
  ToolResult call(std::vector<std::string> argv) { return call_in(settings_.studies.front().results, std::move(argv)); }
  ToolResult call_in(const std::string& folder, std::vector<std::string> argv);

  SlurmSettings settings_;
  ToolRunner& tools_;
  Clock& clock_;
  std::function<void(const std::string&)> note_;
  std::unordered_map<std::string, Entry> entries_;  // by folder
  std::vector<std::string> open_;                   // folders of those that have not ended
  std::map<std::string, Places> places_;            // by batch
  std::set<unsigned int> others_;                   // users whose jobs are among those looked for
  Rows queued_, recorded_;
  std::set<std::string> early_;  // arrays of which sacct knows no name yet
  bool accounting_ = true;
  std::optional<std::string> broken_;
  double earliest_unix_s_;                          // no attempt of ours is older
  int highest_id_ = 0;                              // of the arrays that were seen
  std::optional<double> lost_s_;                    // when it was last seen that the controller had lost jobs
  std::optional<ToolResult> config_;                // what the controller said of itself in this poll
  std::map<std::string, SlurmJobTimes> job_times_;  // what it said of these jobs in this poll, by id
  QueuePace pace_;
  int chunk_limit_;    // most elements of one sbatch
  int largest_chunk_;  // what that may grow to
  std::optional<int> array_limit_;
  std::map<std::string, std::vector<std::string>> to_cancel_;  // ids by name
  std::map<std::string, std::set<std::string>> to_tell_;       // of blocks: that a run of theirs was asked to end
  long long unnamed_ = 0;                                      // attempts to cancel whose jobs nobody named
  std::set<std::string> said_;
  std::vector<std::string> cancel_notices_;  // by study: the last `hpcbench cancel` that we know of
};

}  // namespace hpcbench
