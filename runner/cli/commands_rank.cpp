#include <memory>

#include "cli/command.hpp"
#include "launch/rank.hpp"

namespace hpcbench {

void add_rank(commandline::Command& command) {
  const auto request = std::make_shared<RankRequest>();
  command
      .add_option("-n", request->here, "start this many ranks on this machine, instead of the one that srun or mpirun asks for")
      .value_name("N")
      .at_least(1);
  command.add_option("--per-node", request->per_node, "with -n: how many ranks count as one node").value_name("N").at_least(1);
  command.add_option("--monitor", request->monitor_s, "sample GPUs, processors and memory every so many seconds; 0: never")
      .value_name("SECONDS")
      .at_least(0);
  command.add_option("COMMAND", request->command, "the program and its arguments, after `--`").required();
  command.action([=] { return run_rank(*request); });
}

}  // namespace hpcbench
