#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hpcbench {

/// What a tool printed on stdout; absent if it cannot be started, fails, or takes longer than `timeout_s` (then it is killed).
/// What it says on stderr is dropped. Children of other names are left alone.
std::optional<std::string> output_of(const std::vector<std::string>& argv, double timeout_s);

}  // namespace hpcbench
