#include "launch/word_of_slurm.hpp"

#include "runfiles/job_files.hpp"

namespace hpcbench {

namespace {

// For a signal alone, of which the controller's word on the job says nothing (scancel --signal).
constexpr double kSignalledWaitS = 3;
constexpr double kFailedWaitS = 0.5;
constexpr double kWordComesS = 120;  // at KillWait, 30 s by default, nothing of the job is left to wait

}  // namespace

bool await_word_of_slurm(Supervisor& supervisor, const SlurmJobFacts& job, int status) {
  const Supervision& wishes = supervisor.await_wish(status > kSignalExitBase ? kSignalledWaitS : kFailedWaitS);
  if (!wishes.timed_out && !wishes.cancelled_by && is_ending(job)) supervisor.await_wish(kWordComesS);
  return !wishes.timed_out && !wishes.cancelled_by && is_giving_way(job);
}

}  // namespace hpcbench
