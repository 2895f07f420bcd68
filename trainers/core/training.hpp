#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/settings.hpp"
#include "core/world.hpp"
#include "events/events.hpp"
#include "strategies/strategy.hpp"
#include "tasks/task.hpp"

namespace hpcbench::train {

/// What the loop is at, for the error event.
struct Progress {
  std::string operation = "set-up";
  std::int64_t step = 0;  // steps begun
};

/// What tests look at; null functions are not called.
struct TrainingHooks {
  std::function<void(std::int64_t step, const Model&)> after_backward;  // gradients are averaged, parameters not yet updated
  std::function<void(Strategy&)> at_end;
  Mutation mutation = Mutation::none;
};

struct TrainingResult {
  double train_s = 0;  // from a barrier before the first batch to the end of the last step, less evaluation
  double eval_s = 0;
  std::int64_t steps = 0;
};

/// How many steps an epoch has, and the size of its last one on each process. Pure.
struct EpochShape {
  std::int64_t steps = 0;
  std::int64_t last_batch = 0;
};
EpochShape epoch_shape(std::int64_t samples, int world_size, std::int64_t batch_per_process);

/// The one loop for all tasks and strategies. The strategy is prepared, the data loaded. Writes step, epoch and eval events
/// and, on rank 0, a line per epoch on stdout. Throws Terminated at a step boundary after SIGTERM.
TrainingResult train(Task& task, Strategy& strategy, const Settings& settings, const World& world, Events& events,
                     Progress& progress, const TrainingHooks& hooks);

}  // namespace hpcbench::train
