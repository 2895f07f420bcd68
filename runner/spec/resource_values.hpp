#pragma once

#include <string>
#include <string_view>

#include "spec/experiment.hpp"

namespace hpcbench {

inline constexpr long long kMostCpus = 10'000;

/// A number of bytes as sbatch takes it: `32G`.
bool is_memory(std::string_view text);

/// Sets a key of `resources` (time, cpus_per_task, mem, gres, constraint, exclusive) from a text whose placeholders are filled
/// in. What it must be where it is not; empty if it was set.
std::string set_resource(Resources& resources, const std::string& key, const std::string& value);

}  // namespace hpcbench
