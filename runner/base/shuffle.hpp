#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hpcbench {

/// Returns 0 to count - 1 in a random order by `seed` and `stream`. Never change this: published orders depend on it.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, std::uint64_t stream);

}  // namespace hpcbench
