#pragma once

#include "launch/slurm_job.hpp"
#include "launch/supervisor.hpp"

namespace hpcbench {

/// After a job's program has failed with this status (above 128: by a signal). What ends the whole job (scancel, its time
/// limit, preemption, a node that is shut down) may have reached the program before it reaches us: waits a moment for that
/// word, and where none has come but the controller says that the job is ending, until it comes. It stands in
/// `supervisor.so_far()`. True if nothing has come, and the job is giving way to another one: within the grace that it has for
/// that, Slurm tells its steps alone, and is not waited for.
bool await_word_of_slurm(Supervisor& supervisor, const SlurmJobFacts& job, int status);

}  // namespace hpcbench
