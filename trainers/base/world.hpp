#pragma once

#include <functional>
#include <optional>
#include <string>

namespace hpcbench::train {

/// The rank and number of processes, and the address where the ranks meet.
struct World {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;       // processes of this node, as far as known
  std::string master_addr;  // empty only for a single process
  int master_port = 0;
  std::string host;
};

using Environment = std::function<std::optional<std::string>(const char* name)>;

/// Returns a variable of the process's own environment.
std::optional<std::string> process_environment(const char* name);

/// Reads the place of this process from RANK, WORLD_SIZE, LOCAL_RANK (torchrun, hpcbench); else from the variables of mpirun
/// (Open MPI, or MPICH and Intel MPI); else, in a step of Slurm, from SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID; else
/// it is a single process. MASTER_ADDR falls back to the first host of SLURM_STEP_NODELIST, else SLURM_JOB_NODELIST,
/// MASTER_PORT to 15000 + the last four digits of the job's id. InputError names the variable that is missing or wrong, or
/// states that a job of several tasks needs srun.
World read_world(const Environment& environment);

/// Returns the first host of a Slurm node list: `node[03-05,9],x` gives `node03`.
std::string first_host(const std::string& node_list);

/// Returns the number of threads for LibTorch: OMP_NUM_THREADS, else this process's share of the cores.
int thread_count(const Environment& environment, const World& world);

/// Binds the calling thread to its share of the allowed cores and returns true, if the ranks of this node use exactly all of
/// them (local_size x threads): a scheduler that wakes two ranks on one core halves their speed. Otherwise does nothing and
/// returns false.
bool bind_to_share_of_cores(const World& world, int threads);

}  // namespace hpcbench::train
