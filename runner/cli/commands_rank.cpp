#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "launch/rank.hpp"

namespace hpcbench {

std::vector<std::string>& command_of_rank() {
  static std::vector<std::string> words;
  return words;
}

void add_rank(CLI::App& app, int& exit_code) {
  const auto request = std::make_shared<RankRequest>();
  app.add_option("-n", request->here, "start this many ranks on this machine, instead of the one that srun or mpirun asks for")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  app.add_option("--per-node", request->per_node, "with -n: how many ranks count as one node")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  app.add_option("--monitor", request->monitor_s, "look at the node's GPUs every so many seconds; 0: never")
      ->type_name("SECONDS")
      ->check(CLI::NonNegativeNumber);
  app.callback([=, &exit_code] {
    request->command = command_of_rank();
    exit_code = run_rank(*request);
  });
}

}  // namespace hpcbench
