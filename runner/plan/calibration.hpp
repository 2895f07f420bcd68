#pragma once

#include <cstddef>
#include <vector>

#include "plan/plan.hpp"

namespace hpcbench {

// `allocation: {calibrate: true}`: a block has each of its runs twice, packed beside others and alone.

/// Whether the runs of a repeat are alone first, then packed. Drawn by order_seed for every second repeat; the one after it has
/// the other order, so that what drifts evenly cancels.
bool alone_goes_first(const Plan& plan, int repeat);

/// Of each configuration the index of the packed one that is equal on all other axes: its own where it is packed itself, where
/// the plan has no such one, and without `calibrate`.
std::vector<std::size_t> packed_partners(const Plan& plan);

}  // namespace hpcbench
