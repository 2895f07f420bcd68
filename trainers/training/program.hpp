#pragma once

#include <string>
#include <vector>

#include "base/settings.hpp"
#include "base/world.hpp"

namespace hpcbench::train {

struct TrainingHooks;  // defined in training/training.hpp, which includes LibTorch's headers: callers without hooks need not
                       // include it

/// Trains as one rank, writes its events, and returns the exit code. Every error is printed here, with rank, host, step and
/// operation, written as an error event, and reported to the other ranks. A failing process of several does not return: it ends
/// at once, because the threads of broken collectives cannot be joined.
int run_training(const Settings& settings, const World& world, const TrainingHooks& hooks);

/// Runs the program: reads the command line and run.json, then calls run_training(). Returns the exit code.
int main_program(const std::vector<std::string>& arguments);

}  // namespace hpcbench::train
