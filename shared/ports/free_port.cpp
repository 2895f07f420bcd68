#include "ports/free_port.hpp"

#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>

namespace hpcbench {

namespace {

// Below the ports that the kernel gives to connections (from 32768; ip_local_port_range): a connection could take a port before
// rank 0, which first loads its libraries, listens on it.
constexpr int kFirstPort = 15'000;
constexpr int kLastPort = 31'999;
constexpr int kDraws = 100;

/// Returns `port`, or for 0 a port that the kernel chooses; nullopt and errno if it is taken.
std::optional<int> try_port(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  // On all addresses, because rank 0 will listen on all: a port that is taken on one of them is useless.
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

/// Returns a socket whose name is taken while it is open, for all users of hosts that share their ports (network namespaces);
/// the kernel frees the name of a killed process. nullopt: another process has it.
std::optional<int> reserve(int port) {
  const std::string name = "hpcbench port " + std::to_string(port);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // after a 0: an abstract name, no file
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0) return fd;
  const bool is_taken = errno == EADDRINUSE;
  ::close(fd);
  return is_taken ? std::nullopt : std::optional(-1);  // if no such socket can be made, ports only seem free
}

}  // namespace

FreePort::~FreePort() {
  if (reservation_ >= 0) ::close(reservation_);
}

FreePort::FreePort(FreePort&& other) noexcept : number_(other.number_), reservation_(std::exchange(other.reservation_, -1)) {}

FreePort& FreePort::operator=(FreePort&& other) noexcept {
  std::swap(number_, other.number_);
  std::swap(reservation_, other.reservation_);
  return *this;
}

std::optional<FreePort> FreePort::draw() {
  // Not std::random_device: it queries the processor's features, which takes long on virtual machines.
  unsigned seed = 0;
  if (::getrandom(&seed, sizeof seed, 0) < 0) return std::nullopt;
  std::minstd_rand random(seed);
  std::uniform_int_distribution<int> draw(kFirstPort, kLastPort);
  for (int tried = 0; tried < kDraws; ++tried) {
    const int port = draw(random);
    const std::optional<int> reservation = reserve(port);
    if (!reservation) continue;
    FreePort mine(port, *reservation);
    if (try_port(port)) return mine;
  }
  const std::optional<int> port = try_port(0);
  return port ? std::optional(FreePort(*port, reserve(*port).value_or(-1))) : std::nullopt;
}

}  // namespace hpcbench
