#pragma once

#include <array>

namespace hpcbench {

/// Variables that hpcbench sets for a program, whatever its container passes on, and those of `environment`.
inline constexpr std::array kContainerVariables = {
    "RANK",         "LOCAL_RANK",       "NODE_RANK",       "GROUP_RANK",  "WORLD_SIZE", "LOCAL_WORLD_SIZE",
    "HPCBENCH_RUN", "HPCBENCH_RUN_DIR", "OMP_NUM_THREADS", "MASTER_ADDR", "MASTER_PORT"};

/// Prefixes of the variables of Slurm and of GPUs, which the program receives as well.
inline constexpr std::array kContainerPrefixes = {"SLURM_", "CUDA_VISIBLE_"};

}  // namespace hpcbench
