#pragma once

#include <optional>
#include <string>

namespace hpcbench {

/// How many processes of this process's memory cgroup the kernel has killed because memory ran out. Cgroup v2's memory.events,
/// or v1's memory.oom_control. Absent where that cannot be read.
std::optional<long long> read_oom_kill_count();

/// The number behind `oom_kill ` at the start of a line; absent if there is none.
std::optional<long long> parse_oom_kill_count(const std::string& text);

/// The path of this process's cgroup in a line of /proc/self/cgroup (`0::PATH`, `4:memory:PATH`); absent if there is none.
/// `controller` is empty for v2.
std::optional<std::string> parse_cgroup_path(const std::string& text, const std::string& controller);

}  // namespace hpcbench
