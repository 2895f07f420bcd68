#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "render/blocks.hpp"

namespace hpcbench {

// Runs that go on side by side in one block (`allocation: {side_by_side: K}`): the job asks for K times what one of them does.

/// For how many runs at a time the job of a block of so many runs asks: no more than it has.
int lanes_of(const Experiment& experiment, std::size_t runs);

/// `8G` for 2 times `4G`. Absent for what cannot be counted so: 0 is all memory of a node.
std::optional<std::string> times_memory(const std::string& memory, int lanes);

/// `gpu:a100:4,fs:2` for 2 times `gpu:a100:2,fs`. Absent for counts with a unit.
std::optional<std::string> times_gres(const std::string& gres, int lanes);

/// Within this time `lanes` runs at a time have ended, of which each begins as soon as one before it ends: Graham's bound for
/// lists (1969), the sum over the lanes and what the longest adds to it.
double packed_time_s(double sum_s, double longest_s, int lanes);

/// InputError, at the place of `allocation.side_by_side`, where configurations cannot go on side by side.
void check_packing(const Experiment& experiment, const Plan& plan);

/// `4 at a time`, `one after the other`.
std::string pace_text(int lanes);

}  // namespace hpcbench
