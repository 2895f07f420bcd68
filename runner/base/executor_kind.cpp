#include "base/executor_kind.hpp"

#include <algorithm>

namespace hpcbench {

const std::vector<ExecutorKind>& executor_kinds() {
  static const std::vector<ExecutorKind> kKinds = {
      {.name = "local", .runs_here = true},
      {.name = "slurm", .steps = true, .blocks = true, .preparation_jobs = true, .accounting = true, .shows_queue = true},
      {.name = "commands", .described = true},
  };
  return kKinds;
}

const ExecutorKind& executor_kind(std::string_view name) {
  const std::vector<ExecutorKind>& kinds = executor_kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const ExecutorKind& kind) { return kind.name == name; });
  return found == kinds.end() ? kinds.front() : *found;
}

std::vector<std::string> executor_names() {
  std::vector<std::string> names;
  for (const ExecutorKind& kind : executor_kinds()) names.emplace_back(kind.name);
  return names;
}

}  // namespace hpcbench
