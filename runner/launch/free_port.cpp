#include "launch/free_port.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.hpp"

namespace hpcbench {

FreePort find_free_port() {
  if (std::optional<FreePort> port = FreePort::draw()) return std::move(*port);
  throw UnavailableError(fmt::format("error: cannot find a free port: {}", std::strerror(errno)));
}

}  // namespace hpcbench
