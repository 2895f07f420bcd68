#pragma once

#include "launch/slurm_job.hpp"
#include "launch/supervisor.hpp"

namespace hpcbench {

/// After a job's program has failed with this status (above 128: by a signal). What ends the whole job (scancel, its time
/// limit, preemption, a node that is shut down) may have reached the program before it reaches us: waits a moment for that
/// word, and where none has come but the controller says that the job is ending, until it comes. It stands in
/// `supervisor.so_far()`.
void await_word_of_slurm(Supervisor& supervisor, const SlurmJobFacts& job, int status);

}  // namespace hpcbench
