#include "launch/first_host.hpp"

#include <vector>

#include "base/host_list.hpp"

namespace hpcbench {

std::optional<std::string> first_host(std::string_view list) {
  const std::vector<std::string> hosts = expand_host_list(list);
  return hosts.empty() ? std::nullopt : std::optional(hosts.front());
}

}  // namespace hpcbench
