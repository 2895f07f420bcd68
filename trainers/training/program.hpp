#pragma once

#include <string>
#include <vector>

#include "base/settings.hpp"
#include "base/world.hpp"

namespace hpcbench::train {

struct TrainingHooks;  // training/training.hpp, which reads LibTorch's headers: who needs no hooks is spared them

/// Trains as one rank, writes its events, and returns the exit code. Everything that goes wrong is printed here, with rank,
/// host, step and operation, written as an error event, and told to the other ranks. A failing process of several does not
/// return: it ends at once, because the threads of broken collectives cannot be joined.
int run_training(const Settings& settings, const World& world, const TrainingHooks& hooks);

/// The program: reads the command line and run.json, then run_training().
int main_program(const std::vector<std::string>& arguments);

}  // namespace hpcbench::train
