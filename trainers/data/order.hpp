#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace hpcbench::train {

/// The samples of one rank in one epoch (int64): the epoch's order of all `samples`, repeated from its start to a multiple of
/// the world size, of which rank r takes every world-size-th from r on. The order is at::randperm of a generator seeded with
/// seed + epoch (epochs from 1), or 0, 1, 2 ... without shuffling. So the global batch of step t is the same for every world
/// size that divides it.
at::Tensor epoch_share(std::int64_t samples, std::uint64_t seed, int epoch, bool shuffle, int rank, int world_size);

}  // namespace hpcbench::train
