#include "base/container_monitor.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/host.hpp"
#include "base/text.hpp"

namespace hpcbench {

bool tends_a_container(pid_t pid) {
  constexpr std::array kTools = {"conmon", "crun", "fuse-overlayfs", "runc"};
  const std::string text = process_text(pid, "comm");
  const std::string_view name = trim(text);
  if (std::find(kTools.begin(), kTools.end(), name) != kTools.end()) return true;
  if (name != "podman") return false;
  const std::vector<std::string> words = split(process_text(pid, "cmdline"), '\0');
  const auto container = std::find(words.begin(), words.end(), "container");
  return container != words.end() && container + 1 != words.end() && container[1] == "cleanup";
}

}  // namespace hpcbench
