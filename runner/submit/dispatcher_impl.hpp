#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "render/blocks.hpp"
#include "submit/attempt_batch.hpp"
#include "submit/dispatcher.hpp"
#include "submit/judge.hpp"
#include "submit/next_attempt.hpp"
#include "submit/run_table.hpp"

namespace hpcbench {

/// The parts of a campaign: dispatcher_recover.cpp takes over, dispatcher_batch.cpp makes batches, dispatcher.cpp does the
/// rounds.
struct Dispatcher::Impl {
  /// A batch whose attempts are still leaving it, one by one.
  struct LiveBatch {
    AttemptBatch batch;
    std::size_t waiting = 0;
  };
  /// An attempt until it is settled: intended, then handed over; or adopted.
  struct Attempt {
    std::size_t run = 0;
    AttemptKey key;
    std::string folder;
    std::string batch = {};                // its id; empty: adopted
    std::shared_ptr<LiveBatch> live = {};  // while it waits there
    int index = 0;                         // in the batch: of the attempt, or of its block
    std::string hash = {};                 // attempt_hash
    std::string job = {};
    bool unseen = false;     // of another host: only its finished.json can tell
    double next_look_s = 0;  // when to look for that again
    JobStatus end = {};      // what the executor said when it ended
  };

  Impl(const Experiment& the_experiment, const Plan& the_plan, RenderContext the_context, Executor& the_executor,
       Clock& the_clock, Events& the_events);

  void recover(const std::vector<AttemptState>& known);
  long long retry(const std::vector<AttemptKey>& finished);
  bool step();

  std::string folder_of(const AttemptKey& key) const { return context.results + "/" + to_string(key); }
  /// Why nothing begins any more; empty: it may.
  std::string why_held() const { return hold ? hold() : ""; }
  bool is_held() const { return !why_held().empty(); }
  bool is_highest(std::size_t run, const AttemptKey& key) const { return runs[run].highest() == key.attempt; }

  // Rounds.
  void collect_ended();
  bool has_ended(Attempt& active);
  void hand_over();
  std::vector<AttemptKey> next_keys() const;
  bool hand_over_some();
  void leave_out_deleted();
  void require_results() const;
  void watch(std::size_t run, const AttemptKey& key, const std::string& job, const std::string& batch);
  void settle_ended();
  void apply(std::size_t run, const AttemptKey& key, const Verdict& verdict);
  void conclude(std::size_t run, const AttemptKey& key, State outcome, const std::string& job);
  void requeue(std::size_t run);
  bool is_miss(const AttemptKey& key, State outcome) const { return counts_as_miss(experiment, folder_of(key), outcome); }
  NextAttempt next_of(std::size_t run) const;
  Segment next_segment(std::size_t run) const;
  std::string died_early(const Attempt& active) const;
  Seizure if_unclaimed(const Attempt& active) const;

  // Batches.
  void make_batches();
  std::vector<std::size_t> take_due();
  void make_due_batches(const std::vector<std::size_t>& chosen, bool first);
  std::deque<Attempt> make_job_batches(const std::vector<std::size_t>& taken);
  std::deque<Attempt> write_batch(const std::vector<std::size_t>& due, const JobBatch& jobs);
  /// Whether jobs have a block of attempts each. On this machine one attempt follows another in any case.
  bool in_blocks() const { return experiment.in_blocks() && !executor.runs_here(); }
  bool make_attempt_folder(std::size_t run);
  void discover_attempts(std::size_t run);
  void leave_old_batches(std::size_t run);

  // Recovery.
  bool has_any_of(const OpenBatch& batch) const;
  std::vector<AttemptKey> note_open_batches(const std::vector<OpenBatch>& batches);
  void recover_attempt(const AttemptKey& key);
  /// Whether a batch notes that the attempt left it. Reads all batches once.
  bool was_handed_over(const AttemptKey& key);
  void take_over(std::size_t run, const AttemptKey& key, const std::string& why, const std::string& batch = {});
  void keep_unused(std::size_t run, const AttemptKey& key);
  void close_left_batches(const std::vector<OpenBatch>& batches);

  const Experiment& experiment;
  const Plan& plan;
  RenderContext context;
  Executor& executor;
  Clock& clock;
  Events& events;

  RunTable runs;
  std::size_t cursor = 0;          // runs before it have been in a batch, or had an attempt
  std::vector<std::size_t> again;  // runs before it that need a new attempt
  std::deque<Attempt> pending;     // intended, in the order of handing over
  std::vector<Attempt> active;
  std::deque<Attempt> ended;  // their jobs are gone, their outcomes not yet read
  std::function<std::string()> hold;
  bool asked_for = false;  // a person asked for some of the runs: these begin though all is held

  /// Open batches of earlier processes, and which of them still hold an attempt that was never handed over.
  std::map<std::string, LiveBatch> old_batches;
  std::map<AttemptKey, std::vector<std::string>> vouchers;
  std::optional<std::set<std::string>> handed;         // read_handed_over
  std::unordered_map<std::size_t, AttemptKey> unused;  // runs whose next attempt has a folder already
};

}  // namespace hpcbench
