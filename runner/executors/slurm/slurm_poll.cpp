#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/files.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "executors/slurm/slurm_executor.hpp"
#include "executors/slurm/slurm_users.hpp"
#include "runfiles/cancel_request.hpp"
#include "runfiles/claim.hpp"
#include "runfiles/job_files.hpp"
#include "runfiles/launch_error.hpp"
#include "submit/judge.hpp"

namespace hpcbench {

namespace {

constexpr double kAbsentFor = 30;      // seconds between two complete answers without a job before it counts as gone
constexpr double kFinishedDelay = 60;  // seconds that finished.json may take to become visible after the job's end
constexpr double kDayS = 86400;

constexpr const char* kByNode =
    "; Slurm's controller had lost jobs, or was started again, and nodes cancel what is given an id that they know";

/// What something else than the program and hpcbench made of the attempt, as its launcher noted, where Slurm's word does not
/// say.
std::optional<State> how_it_was_stopped(const std::string& folder) {
  const std::optional<std::string> text = read_file_if_there(folder + "/stopped");
  if (!text) return std::nullopt;
  return text->starts_with(kGaveWay) ? State::preempted : State::cancelled;
}

/// The outcome that Slurm's last word for a job decides, where it decides one.
std::optional<State> outcome_of(const std::string& state) {
  if (state == "TIMEOUT" || state == "DEADLINE") return State::timeout;
  if (state == "OUT_OF_MEMORY") return State::out_of_memory;
  if (state == "NODE_FAIL") return State::node_failure;
  if (state == "PREEMPTED") return State::preempted;
  if (state == "CANCELLED") return State::cancelled;
  return std::nullopt;
}

/// The same of a block, of the run that was going on then: the block's limits are not the run's, and another step may have used
/// too much memory.
std::optional<State> outcome_in_block(const std::string& state) {
  if (state == "TIMEOUT" || state == "DEADLINE" || state == "OUT_OF_MEMORY") return State::lost;
  return outcome_of(state);
}

/// `by 1000` with the user's name, where there is one.
std::string named_user(const std::string& by) {
  const std::string number = by.substr(std::string("by ").size());
  unsigned int uid = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), uid);
  const bool whole = error == std::errc() && end == number.data() + number.size();
  return whole ? fmt::format("by {}{}", user_name_of(uid), uid == ::getuid() ? " (you)" : "") : by;
}

/// squeue's reason is why the job had waited. Accounting names root where a node had it cancelled.
bool nobody_knows_who_cancelled(const SlurmJob& row) {
  return row.state == "CANCELLED" && (!row.reason.starts_with("by ") || row.reason == "by 0");
}

std::string describe_row(const SlurmJob& row) {
  if (row.reason.starts_with("by ")) return fmt::format("Slurm job {}: {} {}", row.id, row.state, named_user(row.reason));
  const char* const comma = row.reason.empty() ? "" : ", ";
  if (row.state == "CANCELLED")
    return fmt::format("Slurm job {}: CANCELLED{}{}, by whom only accounting would know", row.id, comma, row.reason);
  return fmt::format("Slurm job {}: {}{}{}", row.id, row.state, comma, row.reason);
}

/// Slurm itself cancels a job with --no-requeue that it cannot launch on its node. Accounting then names root, squeue nobody:
/// so this is true unless its user, not being root, cancelled the job. A cancel by another user looks the same. Callers ask
/// only about jobs without a claim.
bool failed_to_launch(const SlurmJob& row, unsigned int user) {
  const bool by_user = user != 0 && row.reason == fmt::format("by {}", user);
  return row.state == "CANCELLED" && !row.nodes.empty() && !by_user;
}

/// The node could not open the job's output. Up to Slurm 22.05 the reason is the same where a signal ended a job: callers ask
/// only about jobs without a claim.
bool says_no_output(const SlurmJob& row) {
  return row.reason == "JobLaunchFailure" || row.reason.starts_with("RaisedSignal:53(");
}

/// An element that has not ended comes before one that has: a job may have been started again.
void keep_row(std::unordered_map<int, SlurmJob>& rows, const SlurmJob& row) {
  const auto [place, fresh] = rows.try_emplace(row.index, row);
  if (!fresh && phase_of(place->second.state) == JobState::ended) place->second = row;
}

}  // namespace

const SlurmJob* SlurmExecutor::find_row(const Rows& rows, const Entry& entry) const {
  const auto named = rows.find(entry.name);
  if (named == rows.end()) return nullptr;
  const auto row = named->second.find(entry.index);
  if (row != named->second.end()) return &row->second;
  // An array that was cancelled before any element of it began is a job without index from then on.
  const auto whole = named->second.find(-1);
  const bool cancelled = whole != named->second.end() && whole->second.state == "CANCELLED";
  return cancelled && !is_taken(entry.folder) ? &whole->second : nullptr;
}

/// Whether Slurm still has elements of the array that the entry was seen in. By name, too: a controller that lost its last
/// seconds gives ids out again. By id, too: a batch may have become several arrays, and the others say nothing of this one.
bool SlurmExecutor::knows_array(const Rows& rows, const Entry& entry) {
  const auto named = rows.find(entry.name);
  if (named == rows.end()) return false;
  return std::any_of(named->second.begin(), named->second.end(),
                     [&](const auto& row) { return row.second.array == array_of(entry.job); });
}

bool SlurmExecutor::ask_squeue() {
  const ToolResult answer = call(squeue_arguments(others_));
  if (!answer.succeeded()) {
    say_once("squeue", fmt::format("squeue does not answer ({}); nothing is concluded from that, waiting", describe(answer)));
    return false;
  }
  if (said_.erase("squeue") != 0) note_("squeue answers again");
  queued_.clear();
  for (const SlurmJob& row : parse_squeue(answer.output)) {
    highest_id_ = std::max(highest_id_, whole_number(row.array).value_or(0));
    if (!is_ours(row.name)) continue;
    keep_row(queued_[row.name], row);
  }
  return true;
}

/// True if the answer is complete: also where there is no accounting at all.
bool SlurmExecutor::ask_sacct() {
  recorded_.clear();
  early_.clear();
  if (!accounting_) return true;
  const ToolResult answer = call(sacct_arguments(sacct_time(earliest_unix_s_ - kDayS), others_));
  accounting_ = has_accounting(answer);
  if (!accounting_) return true;
  if (!answer.succeeded()) {
    say_once("sacct", fmt::format("sacct does not answer ({}); jobs that squeue has forgotten wait for it", describe(answer)));
    return false;
  }
  if (said_.erase("sacct") != 0) note_("sacct answers again");
  for (const SlurmJob& row : parse_sacct(answer.output)) {
    if (is_early_record(row)) early_.insert(row.array);
    if (!is_ours(row.name)) continue;
    keep_row(recorded_[row.name], row);
  }
  return true;
}

void SlurmExecutor::poll() {
  pace_.note_poll();
  config_.reset();
  job_times_.clear();
  if (!ask_squeue()) {
    look_without_squeue();
    return;
  }
  std::vector<Entry*> unclear;  // squeue lacks them, or does not say who cancelled them
  for (const std::string& folder : std::vector<std::string>(open_)) {
    Entry& entry = entries_.at(folder);
    const SlurmJob* row = find_row(queued_, entry);
    if (row == nullptr || (row->state == "CANCELLED" && accounting_)) {
      unclear.push_back(&entry);
    } else {
      see(entry, *row);
    }
  }
  if (!unclear.empty()) {
    const bool complete = ask_sacct();
    for (Entry* entry : unclear) {
      const SlurmJob* queued = find_row(queued_, *entry);
      const SlurmJob* recorded = find_row(recorded_, *entry);
      // That accounting thinks a job runs of which the controller does not know proves nothing: it may have missed the end.
      if (recorded != nullptr && phase_of(recorded->state) == JobState::ended) {
        see(*entry, *recorded);
      } else if (queued != nullptr) {
        see(*entry, *queued);
      } else {
        see_absent(*entry, complete && early_.count(array_of(entry->job)) == 0);
      }
    }
  }
  // Jobs that appear although nobody waits for them any more find their claims taken; they need not wait in the queue for that.
  for (auto& [folder, entry] : entries_) {
    if (!entry.dead) continue;
    const SlurmJob* row = find_row(queued_, entry);
    if (row == nullptr || phase_of(row->state) != JobState::waiting) continue;
    if (!entry.in_block || block_is_over(entry)) to_cancel_[entry.name].push_back(row->id);
  }
}

/// What has written finished.json has ended, whether Slurm says so or not.
void SlurmExecutor::look_without_squeue() {
  for (const std::string& folder : std::vector<std::string>(open_)) {
    Entry& entry = entries_.at(folder);
    const bool may_have_run = entry.state.empty() || phase_of(entry.state) != JobState::waiting;
    if (may_have_run && has_finished(folder)) conclude(entry, {JobState::ended, {}, entry.job});
  }
}

void SlurmExecutor::see(Entry& entry, const SlurmJob& row) {
  entry.absent_s.reset();
  entry.job = row.id;
  if (entry.state != row.state) {
    log_info(fmt::format("Slurm job {} is {}{}{}", row.id, row.state, row.nodes.empty() ? "" : " on ", row.nodes));
    pace_.note_change();
  }
  entry.state = row.state;
  entry.reason = row.reason;
  const JobState state = phase_of(row.state);
  if (state == JobState::ended) return see_ended(entry, row);
  entry.ended_s.reset();
  if (state == JobState::running) {
    // After a crash the controller may take a job for running for minutes that ended meanwhile.
    if (has_finished(entry.folder)) conclude(entry, {JobState::ended, {}, row.id});
    return;
  }
  entry.seen_waiting = true;
  if (const auto why = explain_reason(row.reason))
    say_once("waits " + row.reason, fmt::format("job {} waits ({}): {}", row.id, row.reason, *why));
}

void SlurmExecutor::see_ended(Entry& entry, const SlurmJob& row) {
  if (!entry.ended_s) entry.ended_s = clock_.monotonic_s();
  JobStatus end{JobState::ended, describe_row(row), row.id};
  if (has_finished(entry.folder)) return conclude(entry, end);
  // The state of a block's job is one for all of its runs: it tells of the one that ran then.
  const bool began = block_began(entry);
  if (began) {
    end.voids = true;
    if (!is_taken(entry.folder)) return conclude_unbegun(entry, end);
  }
  end.outcome = began ? outcome_in_block(row.state) : outcome_of(row.state);
  end.unclaimed = end.outcome;
  if (failed_to_launch(row, entry.user) && !is_taken(entry.folder)) {
    end.unclaimed = State::node_failure;
    end.text += ": it was given a node and did not begin there, as where a prolog fails";
  } else if (nobody_knows_who_cancelled(row) && !is_cancel_requested(entry.folder)) {
    const std::optional<bool> by_node = may_have_known_id(row.id);
    const bool may_be_told = accounting_ && row.reason != "by 0" && clock_.monotonic_s() - *entry.ended_s < kFinishedDelay;
    if (!by_node || (*by_node && may_be_told)) return;
    if (*by_node) {
      end.voids = true;
      end.outcome = State::node_failure;  // where it had begun
      end.text += kByNode;
    }
  }
  if (end.outcome) return conclude(entry, end);
  if (row.state != "COMPLETED" && row.state != "FAILED") {
    end.voids = true;  // BOOT_FAIL and the like: it never began
    return conclude(entry, end);
  }
  if (row.state == "FAILED") end.unclaimed = State::failed;
  if (row.state == "FAILED" && !is_taken(entry.folder) && notice_missing_launcher(entry, row)) {
    end.text = *broken_;
    return conclude(entry, end);
  }
  const bool never_began = says_no_output(row) && !is_taken(entry.folder);
  if (never_began) end.text += " (its folder must be there on the nodes, and be writable)";
  end.outcome = how_it_was_stopped(entry.folder);
  if (end.outcome)
    end.text += end.outcome == State::preempted ? ": it gave way to another job" : ": it was asked to end from outside";
  const bool none_will_come = never_began || end.outcome || !read_launch_error(entry.folder).empty();
  if (none_will_come || clock_.monotonic_s() - *entry.ended_s >= kFinishedDelay) conclude(entry, end);
}

/// A shell's words for a program that it could not start: the job's script cannot start hpcbench. All jobs would end so, and
/// none of them is the experiment's failure.
bool SlurmExecutor::notice_missing_launcher(Entry& entry, const SlurmJob& row) {
  if (entry.exit_asked) return false;
  entry.exit_asked = true;
  const std::string text = call({"scontrol", "-o", "show", "job", row.id}).output;
  for (const auto& [code, why] : {std::pair{"127", "it is not there, or may not be read"},
                                  std::pair{"126", "it may not be executed, or is of another architecture"}}) {
    if (text.find(fmt::format(" ExitCode={}:0 ", code)) == std::string::npos) continue;
    broken_ = fmt::format(
        "Slurm job {} could not start hpcbench on {} (exit code {}): {}. Put it on a file system that the nodes "
        "see, or name its place there in the site: `hpcbench: /path/hpcbench`",
        row.id, row.nodes.empty() ? "its node" : row.nodes, code, why);
    return true;
  }
  return false;
}

const ToolResult& SlurmExecutor::config() {
  if (!config_) config_ = call({"scontrol", "show", "config"});
  return *config_;
}

/// Whether Slurm tells us of the jobs of whoever handed it over.
bool SlurmExecutor::is_shown(const Entry& entry) {
  if (entry.user == ::getuid() || !may_hide_jobs(config())) return true;
  const std::string user = user_name_of(entry.user);
  say_once("hidden " + user, fmt::format("Slurm does not show you the jobs of {}: their runs wait for finished.json; "
                                         "`hpcbench run` by {} settles those that left none",
                                         user, user));
  return false;
}

void SlurmExecutor::see_absent(Entry& entry, bool complete) {
  if (has_finished(entry.folder)) return conclude(entry, {JobState::ended, {}, entry.job});
  if (const auto claim = read_claim(entry.folder); claim && claim->revoked) {  // it will never run
    entry.dead = true;
    return conclude(entry, {JobState::ended, {}, entry.job});
  }
  if (!complete || !is_shown(entry)) return;
  if (!entry.absent_s) entry.absent_s = clock_.monotonic_s();
  if (clock_.monotonic_s() - *entry.absent_s >= kAbsentFor) conclude_absent(entry);
}

void SlurmExecutor::conclude_absent(Entry& entry) {
  // The claim names the job where we never heard of it.
  const std::optional<Claim> claim = read_claim(entry.folder);
  if (claim && !claim->revoked && !claim->job.empty()) entry.job = claim->job;
  JobStatus end{JobState::ended, {}, entry.job};
  const bool others_are_known = knows_array(queued_, entry) || knows_array(recorded_, entry);
  end.outcome = how_it_was_stopped(entry.folder);
  if (end.outcome == State::preempted) {
    end.text = fmt::format("Slurm job {} gave way to another job", entry.job);
  } else if (end.outcome) {
    end.text = fmt::format("Slurm job {} was asked to end from outside, and Slurm no longer knows by whom", entry.job);
  } else if (entry.seen_waiting && others_are_known && !block_began(entry)) {
    end.unclaimed = State::cancelled;
    end.text = fmt::format("Slurm job {} was cancelled while it waited", entry.job);
  } else {
    end.voids = true;
    if (!entry.job.empty() && !claim) lost_s_ = clock_.monotonic_s();
    end.text = fmt::format("Slurm does not know the job{}", entry.job.empty() ? "" : " " + entry.job + " any more");
  }
  entry.dead = true;
  conclude(entry, end);
}

void SlurmExecutor::conclude(Entry& entry, JobStatus end) {
  entry.ended = true;
  entry.end = std::move(end);
  entry.end.log = fmt::format("slurm-{}.out", entry.end.job);
  open_.erase(std::remove(open_.begin(), open_.end(), entry.folder), open_.end());
  pace_.note_change();
}

}  // namespace hpcbench
