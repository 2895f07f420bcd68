#pragma once

namespace hpcbench {

/// Where a job stands, by its executor or by the tools of its batch system.
enum class JobState {
  waiting,
  stuck,    // it waits, and stays so until the user acts
  running,  // or ending
  ended,
  unknown,  // it cannot be seen, or its batch system has a word for it that is not known
};

constexpr bool is_active(JobState state) { return state < JobState::ended; }

}  // namespace hpcbench
