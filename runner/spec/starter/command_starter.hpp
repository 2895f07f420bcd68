#pragma once

#include <string>
#include <vector>

#include "spec/read_experiment.hpp"

namespace hpcbench {

/// An axis of a starter, and a comment about it.
struct StarterAxis {
  std::string name;
  std::vector<std::string> values;  // as YAML has them
  std::string about;
};

/// What a command line becomes in an experiment file.
struct StarterCommand {
  std::vector<std::string> words;  // of a list; one text for a shell
  bool shell = false;
  std::string launch;
  std::string why;  // `launch` is so
  std::vector<StarterAxis> axes;
  std::string cpus_per_task;  // as YAML has it; empty: nothing tells
  std::string threads;        // the axis of numbers of threads; empty: none
};

/// Numbers of processes and nodes that a launcher (torchrun, accelerate, deepspeed, mpirun, srun) is given become placeholders,
/// and axes have these numbers; placeholders that nothing defines become axes, too. A line whose numbers no axes can have
/// (`mpirun -n 4 ./a : -n 2 ./b`) stays as it is, as one configuration.
StarterCommand starter_command(const StarterOptions& options);

}  // namespace hpcbench
