#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "files/shard_index.hpp"
#include "optim/model.hpp"
#include "strategies/strategy.hpp"
#include "tasks/tensors.hpp"

namespace hpcbench::train {

/// Where a run stands, at a step boundary.
struct TrainingState {
  int epoch = 1;                 // that goes on
  std::int64_t epoch_steps = 0;  // of it that are done
  std::int64_t steps = 0;        // of the run
  std::int64_t optimizer_steps = 0;
  std::vector<double> loss_sums;  // of the epoch so far, by rank: loss sum, samples
  std::optional<double> best_loss;
  int best_epoch = 0;
  int worse_evaluations = 0;  // since the best one
  bool stopped_early = false;
};

/// Everything that a run needs to go on: values, the optimiser's state, where it stood, and the settings that decide what is
/// computed. Order, schedule and dropout follow from these: they have no state of their own.
struct TrainingCheckpoint {
  TrainingState state;
  std::map<std::string, std::string> settings;
  std::vector<NamedTensor> model;      // parameters, then buffers
  std::vector<NamedTensor> optimizer;  // Optimizer::state()
};

/// The settings that must be the same in a run that goes on, as text. Paths are not among them; epochs and max_steps only
/// where the schedule depends on them.
std::map<std::string, std::string> settings_to_keep(const Settings& settings, const World& world, std::int64_t train_samples);

/// Writes a checkpoint whose tensors come one by one, in any order: a file that is whole or absent. DataError if that fails.
class CheckpointWriter {
 public:
  /// Of the tensors of `layout` names, sizes and types.
  CheckpointWriter(const std::filesystem::path& path, const TrainingCheckpoint& layout);
  /// By the numbers in layout.model and layout.optimizer.
  void write_model(std::size_t index, const at::Tensor& tensor) { file_.write(index, tensor); }
  void write_optimizer(std::size_t index, const at::Tensor& tensor) { file_.write(model_tensors_ + index, tensor); }
  void finish() { file_.finish(); }

 private:
  std::size_t model_tensors_;
  TensorsWriter file_;
};

/// Where the shards of the checkpoint `path` lie: a folder beside it, of its name without .safetensors.
std::filesystem::path shard_folder(const std::filesystem::path& path);

/// One rank's part of a checkpoint in shards, on the disk when this returns. `layout` as for a CheckpointWriter.
ShardEntry write_checkpoint_shard(const std::filesystem::path& path, std::int64_t save, const StateShard& shard,
                                  const TrainingCheckpoint& layout);
/// The checkpoint itself, once all shards are there: a file without tensors, which names them, whole or absent.
void write_checkpoint_index(const std::filesystem::path& path, const TrainingCheckpoint& layout,
                            const std::vector<ShardEntry>& shards);

/// Of either kind. DataError names the file, and what is missing in it or misshapen, for a model and an optimiser with these
/// tensors; InputError lists the settings that differ from `settings`.
TrainingCheckpoint read_checkpoint(const std::filesystem::path& path, const std::map<std::string, std::string>& settings,
                                   const std::vector<NamedTensor>& model, const std::vector<NamedTensor>& optimizer);

}  // namespace hpcbench::train
