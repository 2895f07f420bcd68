#include "plan/check_faults.hpp"

#include <fmt/format.h>

#include <string>

#include "base/error.hpp"

namespace hpcbench {

namespace {

[[noreturn]] void refuse_fault(const FilledText& text, const std::string& message, const std::string& advice) {
  throw InputError(fmt::format("{}: error: {}\n  = {}", describe(text.place), message, advice));
}

const FilledText& text_of(const Work& work, const std::string& key) {
  for (const FilledText& text : work.inject) {
    if (text.key == key) return text;
  }
  return work.inject.front();
}

/// The number that was given, or the last one.
int one_of(int count, const std::optional<int>& given, const Work& work, const std::string& key, const char* kind) {
  if (given && *given >= count) {
    refuse_fault(text_of(work, key), fmt::format("`inject.{}` is {}, and there are {} {}s", key, *given, count, kind),
                 fmt::format("{}s count from 0; without it the last one is hit", kind));
  }
  return given.value_or(count - 1);
}

/// hpcbench must know, and have started, the processes that are hit.
void require_own_processes(const Work& work) {
  if (work.launch == Launch::once) {
    refuse_fault(work.inject.front(),
                 "`inject` needs ranks that hpcbench knows, and with `launch: once` the command starts them",
                 "say `launch: rank`, or `launch: node` for torchrun");
  }
  if (work.container && work.container->runtime == ContainerRuntime::podman) {
    refuse_fault(work.inject.front(), "`inject` needs processes of hpcbench's own, and podman's are not",
                 "say `runtime: apptainer` or `runtime: pyxis`");
  }
}

}  // namespace

Faults faults_of(const Configuration& configuration) {
  const Work& work = *configuration.work;
  Faults faults;
  for (const FilledText& text : work.inject) set_fault(faults, text.key, text.text);
  faults = without_idle(std::move(faults));
  if (!faults.any()) return faults;
  require_own_processes(work);
  if (faults.kill_rank) {
    const bool launched = work.launch == Launch::node && !work.trainer;
    const int ranks = launched ? configuration.ranks() : process_count(configuration);
    faults.kill_rank->rank = one_of(ranks, faults.kill_rank->rank, work, "kill_rank.rank", "rank");
    if (launched) faults.kill_rank->launched = ranks;
  }
  if (faults.slow_node)
    faults.slow_node->node = one_of(configuration.nodes, faults.slow_node->node, work, "slow_node.node", "node");
  return faults;
}

}  // namespace hpcbench
