#include "ports/free_port.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <random>

namespace hpcbench {

namespace {

// Below those that the kernel gives to connections (from 32768; ip_local_port_range): one of them may take a port before rank
// 0, which first loads its libraries, listens there.
constexpr int kFirstPort = 15'000;
constexpr int kLastPort = 31'999;
constexpr int kDraws = 100;

/// `port`, or with 0 one that the kernel chooses; absent, and errno says why, if it is taken.
std::optional<int> try_port(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  // All addresses, as rank 0 will listen on all: a port that is taken on one of them is no use.
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof address;
  if (fd < 0) return std::nullopt;
  const bool is_free = ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                       ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                       ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  const int why = errno;
  ::close(fd);
  errno = why;
  return is_free ? std::optional<int>(ntohs(address.sin_port)) : std::nullopt;
}

}  // namespace

std::optional<int> draw_free_port() {
  std::random_device random;
  std::uniform_int_distribution<int> draw(kFirstPort, kLastPort);
  for (int tried = 0; tried < kDraws; ++tried) {
    if (const std::optional<int> port = try_port(draw(random))) return port;
  }
  return try_port(0);
}

}  // namespace hpcbench
