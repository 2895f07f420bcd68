#pragma once

#include <cstdint>
#include <optional>

namespace hpcbench::train {

/// Bytes that the kernel has sent for the TCP sockets that this process has open, headers not counted (tcpi_bytes_sent of
/// Linux's TCP_INFO); absent where the kernel does not tell. What a library sends by itself is in it, too.
std::optional<std::int64_t> socket_bytes_sent();

}  // namespace hpcbench::train
