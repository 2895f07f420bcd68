#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hpcbench {

/// How one process ended. One of exit_code and signal is there.
struct ProcessEnd {
  int rank = 0;
  std::optional<int> exit_code;
  std::optional<int> signal;
  double wall_s = 0;
  double user_s = 0, sys_s = 0;  // with those of its children that it waited for
  long long max_rss_bytes = 0;   // of the largest of these processes
  bool usage_known = true;       // false: the program was no child of ours, so these three are unknown
};

/// How all processes of a job ended.
struct Supervision {
  std::vector<ProcessEnd> processes;     // by rank
  std::optional<ProcessEnd> setup;       // of the set-up, or of job.sh, where the job ended with it and no rank says how
  std::optional<int> first_failed_rank;  // absent if none failed before we ended them
  bool timed_out = false;
  bool warned = false;              // of the time limit, by SIGUSR1
  std::optional<int> cancelled_by;  // the signal that asked us to end
  /// For how long a scheduler had suspended the job, from its word on: processes may stop up to 2 s later. All times here
  /// include it. Absent: never.
  std::optional<double> suspended_s;
  double wall_s = 0;
  std::string program;  // with `end`: the name of the first process when it ended, as /proc has it
};

}  // namespace hpcbench
