#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hpcbench {

/// The first name of a list of hosts as Slurm writes it: `n07` of `n[07-12,20],m3`, `a1b2` of `a[1-4]b[2,5]`. Absent where
/// there is none.
std::optional<std::string> first_host(std::string_view list);

}  // namespace hpcbench
