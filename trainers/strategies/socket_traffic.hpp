#pragma once

#include <cstdint>
#include <optional>

namespace hpcbench::train {

/// Returns the bytes that the kernel has sent for this process's open TCP sockets, without headers (tcpi_bytes_sent of Linux's
/// TCP_INFO); nullopt if the kernel does not report it. Includes what libraries send on their own.
std::optional<std::int64_t> socket_bytes_sent();

}  // namespace hpcbench::train
