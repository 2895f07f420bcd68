#include "strategies/socket_traffic.hpp"

#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace hpcbench::train {

namespace {

constexpr std::size_t kBytesSentAt = 200;  // offset of tcpi_bytes_sent in struct tcp_info (linux/tcp.h, since 4.19)
constexpr int kTcpInfoOption = 11;         // TCP_INFO

/// nullopt if it is no TCP socket.
std::optional<std::int64_t> bytes_sent_by(int descriptor) {
  int protocol = 0;
  socklen_t size = sizeof protocol;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) != 0 || protocol != IPPROTO_TCP) return std::nullopt;
  unsigned char info[512] = {};
  size = sizeof info;
  if (getsockopt(descriptor, IPPROTO_TCP, kTcpInfoOption, info, &size) != 0) return std::nullopt;
  std::uint64_t sent = 0;
  if (size < kBytesSentAt + sizeof sent) return std::nullopt;
  std::memcpy(&sent, info + kBytesSentAt, sizeof sent);
  return static_cast<std::int64_t>(sent);
}

}  // namespace

std::optional<std::int64_t> socket_bytes_sent() {
  const auto close_folder = [](DIR* folder) { closedir(folder); };
  const std::unique_ptr<DIR, decltype(close_folder)> folder(opendir("/proc/self/fd"), close_folder);
  if (!folder) return std::nullopt;
  std::optional<std::int64_t> sum;
  while (const dirent* entry = readdir(folder.get())) {
    if (const auto sent = bytes_sent_by(std::atoi(entry->d_name))) sum = sum.value_or(0) + *sent;
  }
  return sum;
}

}  // namespace hpcbench::train
