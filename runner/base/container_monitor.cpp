#include "base/container_monitor.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/host.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

using Names = std::vector<std::string_view>;

bool is_one_of(std::string_view name, const Names& names) { return std::find(names.begin(), names.end(), name) != names.end(); }

bool is_cleanup(const std::vector<std::string>& words) {
  const auto container = std::find(words.begin(), words.end(), "container");
  return container != words.end() && container + 1 != words.end() && container[1] == "cleanup";
}

/// Returns whether the title is `Apptainer runtime parent: torch.sif`, or a child's before it becomes the program.
bool is_runtime_parent(std::string_view title) { return title.find(" runtime parent") != std::string_view::npos; }

}  // namespace

ContainerPart container_part(pid_t pid) {
  static const Names kKeepers = {"conmon", "crun", "fuse-overlayfs", "runc"};
  static const Names kImages = {"fuse2fs", "gocryptfs", "squashfuse", "squashfuse_ll"};
  const std::string text = process_text(pid, "comm");
  const std::string_view name = trim(text);
  if (is_one_of(name, kKeepers)) return ContainerPart::keeper;
  if (is_one_of(name, kImages)) return ContainerPart::image;
  if (is_one_of(name, {"appinit", "sinit"})) return ContainerPart::relay;
  if (!is_one_of(name, {"podman", "starter", "starter-suid"})) return ContainerPart::none;
  const std::vector<std::string> words = split(process_text(pid, "cmdline"), '\0');
  if (name == "podman") return is_cleanup(words) ? ContainerPart::keeper : ContainerPart::none;
  return is_runtime_parent(words.front()) ? ContainerPart::relay : ContainerPart::none;
}

}  // namespace hpcbench
