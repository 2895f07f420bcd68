#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/tool_runner.hpp"
#include "executors/commands/batch_tools.hpp"
#include "submit/executor.hpp"
#include "submit/queue_pace.hpp"

namespace hpcbench {

struct CommandsSettings {
  struct Study {
    std::string experiment;
    std::string results;  // absolute: .../results/EXPERIMENT
  };
  std::vector<Study> studies;  // one or more; no two with one name or one folder
  BatchSystem system;
  int max_queued = 1000;         // most of our jobs in the queue
  double tool_timeout_s = 60;    // of one call
  double gone_after_s = 30;      // between two complete lists without a job before it counts as gone
  double finished_delay_s = 60;  // that finished.json may take to become visible after the job's end
};

/// Submits each attempt as one job of a batch system that a site file describes. A job is known by its unique name,
/// hb.EXPERIMENT.BATCH.INDEX: after a crash, it is found by that name in the list. One call of `list` serves all jobs in a
/// poll; `status` answers from the last one. Nothing is concluded from a command that fails.
class CommandsExecutor : public Executor {
 public:
  /// `note` receives, once each, what the user should know.
  CommandsExecutor(CommandsSettings settings, ToolRunner& tools, Clock& clock, std::function<void(const std::string&)> note);

  std::string name() const override { return "commands"; }
  bool runs_here() const override { return false; }
  double end_patience_s() const override { return 25; }
  /// At most 1, so that a crash leaves one submission in doubt; 0 while a pause lasts after `later` matched.
  int free_slots() override;
  /// One call of `submit` for each attempt. A call that fails is followed by a look at the list: only a job that is not in it
  /// counts as refused.
  Submission submit(const AttemptSpan& attempts) override;
  JobStatus status(const std::string& folder, const std::string& job) override;
  /// With the next flush or wait. Where the attempt has begun, it leaves `cancel_requested` in its folder, by which the
  /// launcher ends all its processes; most batch systems only kill the first ones, which they do if that takes too long.
  void cancel(const std::string& folder, const std::string& job) override;
  void flush() override;
  void adopt(const std::string& folder, const std::string& job) override;
  void wait(double seconds) override;
  std::string waiting() override;

 private:
  struct Entry {
    std::string folder;
    std::string batch;
    std::string name;  // empty: its files do not tell; then it is never found
    int index = -1;
    std::string job;        // the id, once known
    bool accepted = false;  // `submit` printed its id, or the list has shown it
    JobState phase = JobState::unknown;
    std::string state;               // as last listed
    std::optional<double> absent_s;  // since when complete lists lack it
    bool ended = false;              // `end` is known
    bool dead = false;               // cancelled: should it appear, it is cancelled again
    JobStatus end;
  };

  Entry& entry_of(const std::string& folder);
  Entry& expect(const std::string& folder, const std::string& batch, int index);
  void identify(Entry& entry);
  const std::map<std::string, int>& places_of(const std::string& results, const std::string& batch);
  const CommandsSettings::Study& study_of(const std::string& folder) const;
  void write_script(const AttemptSpan& attempts, std::size_t i, const Entry& entry);
  /// The job's id; else what is known instead, as a Submission without jobs.
  std::optional<std::string> submit_one(const Entry& entry, Submission& rest);
  void poll();
  bool ask_list();
  const BatchJob* find_row(const Entry& entry) const;
  void see(Entry& entry, const BatchJob& row);
  void see_gone(Entry& entry);
  void conclude(Entry& entry, JobStatus end);
  JobStatus end_of(const Entry& entry) const;
  void say_once(const std::string& kind, const std::string& text);
  ToolResult call(const std::vector<std::string>& command, const std::map<std::string, std::vector<std::string>>& values);
  std::string batch_folder(const Entry& entry) const;

  CommandsSettings settings_;
  ToolRunner& tools_;
  Clock& clock_;
  std::function<void(const std::string&)> note_;
  BatchTools patterns_;
  std::unordered_map<std::string, Entry> entries_;            // by folder
  std::vector<std::string> open_;                             // folders of those that have not ended
  std::map<std::string, std::map<std::string, int>> places_;  // by folder of a batch: the indices of its attempts
  std::unordered_map<std::string, BatchJob> listed_;          // by name, of the last complete list
  QueuePace pace_;
  std::map<std::string, double> to_cancel_;  // ids, and when: what has begun first gets time to end by itself
  std::set<std::string> said_;
};

}  // namespace hpcbench
