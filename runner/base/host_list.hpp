#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// Most names that a list is expanded to.
inline constexpr std::size_t kMostHosts = 65'536;

/// The names of a list of hosts as Slurm writes it, in its order: `n07 n08 m3` of `n[07-08],m3`, `a1b2 a1b5` of `a1b[2,5]`.
/// Total: empty where it is no such list, or one of more than kMostHosts names.
std::vector<std::string> expand_host_list(std::string_view list);

}  // namespace hpcbench
