#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.hpp"
#include "submit/job_state.hpp"

namespace hpcbench {

// All below is pure and total: whatever text comes, there is an answer, and what is not understood is never taken for success
// or for refusal. The formats are those that Slurm 20.11 to 25.x share.

/// What an `sbatch --parsable` came to.
struct SbatchAnswer {
  enum class Kind {
    accepted,  // `job` is the id
    refused,   // known: nothing was submitted, and nothing will be until something is mended; `text` says why
    limited,   // known: nothing was submitted, as this user or account has too many jobs queued
    full,      // known: nothing was submitted, as the controller has no room for so many jobs (MaxJobCount)
    busy,      // known: nothing was submitted, as the controller took no request
    doubtful,  // anything else: it may have been submitted
  };
  Kind kind = Kind::doubtful;
  std::string job;
  std::string text;
};
SbatchAnswer parse_sbatch(const ToolResult& result);

/// What sbatch says first where the controller has no room for the job. It then tries again by itself, for so many seconds.
inline constexpr const char* kSbatchWaitsWord = "sleeping and retrying";
inline constexpr double kSbatchWaitsS = 120;

/// One job, or one element of an array, as squeue or sacct have it.
struct SlurmJob {
  std::string id;     // `123` or `123_4`
  std::string array;  // `123` of `123_4`; of a job that is none: its id
  int index = -1;     // 4 of `123_4`; -1 of a job that is no array
  std::string name;
  std::string state;   // `RUNNING`, `CANCELLED` ...: one word
  std::string reason;  // squeue's reason while it waits and after it ended; empty: none. sacct: `by 1000` of a cancelled one
  std::string nodes;   // `n[0-1]`; empty: none yet
  std::string start;   // expected or real start, as Slurm prints it; empty: not known
};

/// `123` of `123_4`.
inline std::string array_of(const std::string& job) { return job.substr(0, job.find('_')); }

/// Arguments and answer of the one squeue of a poll: all jobs of this user, and of `others`, ended ones among them.
std::vector<std::string> squeue_arguments(const std::set<unsigned int>& others = {});
/// Lines that are none of ours in form are passed over.
std::vector<SlurmJob> parse_squeue(std::string_view output);

/// Arguments and answer of the one sacct of a poll; `since` as in `2026-11-21T00:00:00`.
std::vector<std::string> sacct_arguments(const std::string& since, const std::set<unsigned int>& others);
std::vector<SlurmJob> parse_sacct(std::string_view output);
/// A time as `sacct -S` takes it: `2026-11-21T13:04:05`, in local time.
std::string sacct_time(double unix_s);
/// For a few seconds sacct calls a new job `allocation`: then its answer says nothing yet.
bool is_early_record(const SlurmJob& job);

/// Whether accounting is there at all: false where sacct says that it is disabled, or where there is no sacct.
bool has_accounting(const ToolResult& sacct);

/// The value of a line `MaxArraySize            = 1001` of `scontrol show config`.
std::optional<std::string> config_value(std::string_view output, std::string_view key);
/// Most elements of an array by `scontrol show config`: MaxArraySize, which all indices are below, or max_array_tasks among
/// SchedulerParameters where that is less.
std::optional<int> parse_max_array_size(std::string_view output);
/// BOOT_TIME of it: when the controller was started, in seconds since 1970.
std::optional<double> parse_controller_start(std::string_view output);

/// Of the first job of a `scontrol -o show job`, in seconds since 1970; absent where it does not say.
struct SlurmJobTimes {
  std::optional<double> submitted, ended;
};
SlurmJobTimes parse_job_times(std::string_view output);

/// Where a job stands that Slurm gives this state: an unknown word counts as running.
JobState phase_of(std::string_view state);

/// Why a job waits, in words, where that is not simply its turn: what it asks for that it cannot get, what is down, which limit
/// is reached. Absent for the usual reasons (Priority, Resources, BeginTime ...) and for unknown ones.
std::optional<std::string> explain_reason(std::string_view reason);

}  // namespace hpcbench
