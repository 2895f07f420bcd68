#pragma once

#include <array>

namespace hpcbench {

/// Variables that a program gets from hpcbench, whatever its container would pass on; and those of `environment`.
inline constexpr std::array kContainerVariables = {
    "RANK",         "LOCAL_RANK",       "NODE_RANK",       "GROUP_RANK",  "WORLD_SIZE", "LOCAL_WORLD_SIZE",
    "HPCBENCH_RUN", "HPCBENCH_RUN_DIR", "OMP_NUM_THREADS", "MASTER_ADDR", "MASTER_PORT"};

/// How the names of Slurm's and of GPUs' variables begin, which it gets, too.
inline constexpr std::array kContainerPrefixes = {"SLURM_", "CUDA_VISIBLE_"};

}  // namespace hpcbench
