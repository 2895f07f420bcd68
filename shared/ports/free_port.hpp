#pragma once

#include <optional>

namespace hpcbench {

/// A TCP port without a listener on this host now, drawn from those that the kernel gives to no connection while one of them is
/// free. Absent, and errno says why, if there is none.
std::optional<int> draw_free_port();

}  // namespace hpcbench
