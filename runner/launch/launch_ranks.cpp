#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "launch/free_port.hpp"
#include "launch/launch.hpp"
#include "launch/rank_environment.hpp"
#include "launch/supervisor.hpp"
#include "runfiles/job_files.hpp"

namespace hpcbench {

namespace {

std::vector<ProcessSpec> foreground_specs(int ranks, const std::vector<std::string>& command, int port) {
  const RankLayout layout{ranks, ranks, port};
  const long cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  std::vector<ProcessSpec> specs;
  for (int rank = 0; rank < ranks; ++rank) {
    EnvironmentChanges changes = rank_variables(layout, rank);
    changes["HPCBENCH_TOKEN"] = std::nullopt;
    // All ranks together use the machine once.
    if (std::getenv("OMP_NUM_THREADS") == nullptr) changes["OMP_NUM_THREADS"] = std::to_string(std::max(1L, cores / ranks));
    ProcessSpec spec;
    spec.rank = rank;
    spec.argv = command;
    spec.environment = changed_environment(own_environment(), changes);
    specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace

int launch_ranks(int ranks, const std::vector<std::string>& command, double grace_s) {
  if (ranks < 1) throw InputError("error: the number of ranks must be at least 1");
  if (command.empty() || command[0].empty()) throw InputError("error: no command to start");
  Supervisor supervisor(Supervisor::Place::foreground);
  SupervisionRules rules;
  rules.grace_s = grace_s;
  std::optional<StartError> error;
  const FreePort port = find_free_port();
  const Supervision supervision = supervisor.run(foreground_specs(ranks, command, port.number()), rules, error);
  if (error) throw InputError("error: " + error->text);
  if (supervision.cancelled_by) return kSignalExitBase + *supervision.cancelled_by;
  if (!supervision.first_failed_rank) return 0;
  const ProcessEnd* const failed = deciding_process(supervision);
  const std::string how =
      failed->signal ? fmt::format("signal {}", *failed->signal) : fmt::format("exit code {}", *failed->exit_code);
  if (ranks > 1) std::fputs(fmt::format("error: rank {} of {} failed first: {}\n", failed->rank, ranks, how).c_str(), stderr);
  return failed->signal ? kSignalExitBase + *failed->signal : *failed->exit_code;
}

}  // namespace hpcbench
