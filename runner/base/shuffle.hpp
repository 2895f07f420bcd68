#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hpcbench {

/// 0 to count - 1 in a random order that `seed` and `stream` alone decide, the same on every machine and for good.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, std::uint64_t stream);

}  // namespace hpcbench
