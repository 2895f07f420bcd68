#pragma once

#include <memory>

#include "tasks/task.hpp"

namespace hpcbench::train {

/// A task with one model per device of a process (dp), all from the same settings and so of the same weights. It is the first
/// one's task in everything but replicas() and loss_on().
std::unique_ptr<Task> make_replicated_task(const Settings& settings, int devices);

}  // namespace hpcbench::train
