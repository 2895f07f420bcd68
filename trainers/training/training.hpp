#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/settings.hpp"
#include "base/world.hpp"
#include "events/events.hpp"
#include "strategies/strategy.hpp"
#include "tasks/task.hpp"
#include "training/order.hpp"

namespace hpcbench::train {

/// The loop's current position, for the error event.
struct Progress {
  std::string operation = "set-up";
  std::int64_t step = 0;  // steps begun
};

/// Hooks of tests; null functions are not called.
struct TrainingHooks {
  // Called when the gradients are averaged and the parameters not yet updated.
  std::function<void(std::int64_t step, Strategy&)> after_backward;
  std::function<void(Strategy&)> at_end;
};

struct TrainingResult {
  double train_s = 0;  // from a barrier before the first batch to the end of the last step, without evaluation and checkpoints
  double eval_s = 0;
  double checkpoint_s = 0;
  std::int64_t steps = 0;  // of the whole run, including those before it was resumed
};

BatchShape batch_shape(const Settings& settings, const World& world);

/// Returns the optimiser steps of the whole run: those of the epochs, or max_steps if that is less.
std::int64_t total_steps(const Settings& settings, const World& world, std::int64_t train_samples);

/// Runs the one loop for all tasks and strategies. The strategy must be prepared, the data loaded. Writes step, epoch, eval and
/// checkpoint events and, on rank 0, a line per epoch on stdout. Throws Terminated at a step boundary after SIGTERM, Diverged
/// for a step whose loss is not finite: at once, or, if losses are on a GPU, when they are read, every `log_every` steps and
/// before an evaluation or a checkpoint.
TrainingResult train(Task& task, Strategy& strategy, const Settings& settings, const World& world, Events& events,
                     Progress& progress, const TrainingHooks& hooks);

}  // namespace hpcbench::train
