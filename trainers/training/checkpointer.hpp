#pragma once

#include <optional>
#include <string>

#include "base/settings.hpp"
#include "base/world.hpp"
#include "events/events.hpp"
#include "files/file_lock.hpp"
#include "strategies/strategy.hpp"
#include "tasks/task.hpp"
#include "training/checkpoint.hpp"

namespace hpcbench::train {

/// The files that a run keeps: checkpoint/last.safetensors (to resume), checkpoint/best/ (the model with the lowest validation
/// loss), predictions.json of the last evaluation, and the model for `save`. Rank 0 writes, the others wait, except for
/// checkpoints in shards; all functions but seconds() are collective.
class Checkpointer {
 public:
  Checkpointer(Task& task, Strategy& strategy, const Settings& settings, const World& world, Events& events);

  /// Makes the required folders, so that a write error is reported before training, not after it. DataError if another training
  /// keeps its checkpoints there.
  void make_folders();
  /// Loads the state that `resume` names, and the best model beside it.
  TrainingState resume();
  void keep_last(const TrainingState& state);
  void keep_best(const TrainingState& state);
  /// Keeps the predictions of the last evaluation; its time does not count as checkpoint time.
  void keep_predictions();
  void save_model(const TrainingState& state);
  /// Returns the time spent on all this so far.
  double seconds() const { return seconds_; }

 private:
  void bring_best(const std::filesystem::path& from, int epoch);
  void write_model_folder(const std::filesystem::path& folder, const char* kind, const TrainingState& state);
  void write_whole(const std::filesystem::path& path, const TrainingCheckpoint& checkpoint);
  void write_shards(const std::filesystem::path& path, const TrainingCheckpoint& checkpoint);
  void report(const std::filesystem::path& path, const char* kind, const TrainingState& state, double start_s);

  Task& task_;
  Strategy& strategy_;
  const Settings& settings_;
  const World& world_;
  Events& events_;
  std::vector<std::string> predictions_;  // of all ranks, of the last evaluation
  double seconds_ = 0;
  std::optional<FileLock> lock_;  // rank 0: the folder of the checkpoints is this training's
};

}  // namespace hpcbench::train
