#pragma once

#include "runfiles/rank_binding.hpp"

namespace hpcbench {

/// What this process, and so each program that it starts, is bound to now: by the kernel's files, and for GPUs by Slurm's
/// variables, or CUDA's or ROCm's, else all that the driver shows. `uses_gpus`: false, it has none whatever is there. `run` and
/// `rank` are left to the caller.
RankBinding own_binding(bool uses_gpus);

}  // namespace hpcbench
