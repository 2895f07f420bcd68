#include "launch/free_port.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/error.hpp"
#include "ports/free_port.hpp"

namespace hpcbench {

int find_free_port() {
  if (const std::optional<int> port = draw_free_port()) return *port;
  throw UnavailableError(fmt::format("error: cannot find a free port: {}", std::strerror(errno)));
}

}  // namespace hpcbench
