#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// Maximum number of names in an expanded list.
inline constexpr std::size_t kMostHosts = 65'536;

/// Returns the names of a host list in Slurm's notation, in its order: `n07 n08 m3` for `n[07-08],m3`, `a1b2 a1b5` for
/// `a1b[2,5]`. Total: empty for any other text and for more than kMostHosts names.
std::vector<std::string> expand_host_list(std::string_view list);

}  // namespace hpcbench
