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

/// The progress of a run, at a step boundary.
struct TrainingState {
  int epoch = 1;                 // the current epoch
  std::int64_t epoch_steps = 0;  // completed steps of it
  std::int64_t steps = 0;        // of the run
  std::int64_t optimizer_steps = 0;
  std::vector<double> loss_sums;  // of the epoch so far, by rank: loss sum, samples
  std::optional<double> best_loss;
  int best_epoch = 0;
  int worse_evaluations = 0;  // since the best one
  bool stopped_early = false;
};

/// Everything that a run needs to continue: values, the optimiser's state, its progress, and the settings that determine what
/// is computed. Order, schedule and dropout follow from these: they have no state of their own.
struct TrainingCheckpoint {
  TrainingState state;
  std::map<std::string, std::string> settings;
  std::vector<NamedTensor> model;      // parameters, then buffers
  std::vector<NamedTensor> optimizer;  // Optimizer::state()
};

/// Returns the settings that must be the same in a continued run, as text. Paths are not among them; epochs and max_steps only
/// if the schedule depends on them.
std::map<std::string, std::string> settings_to_keep(const Settings& settings, const World& world, std::int64_t train_samples);

/// Writes a checkpoint whose tensors are passed one by one, in any order: a file that is whole or absent. DataError if that
/// fails.
class CheckpointWriter {
 public:
  /// `layout`: names, sizes and types of the tensors.
  CheckpointWriter(const std::filesystem::path& path, const TrainingCheckpoint& layout);
  /// Writes a tensor by its number in layout.model, or layout.optimizer.
  void write_model(std::size_t index, const at::Tensor& tensor) { file_.write(index, tensor); }
  void write_optimizer(std::size_t index, const at::Tensor& tensor) { file_.write(model_tensors_ + index, tensor); }
  void finish() { file_.finish(); }

 private:
  std::size_t model_tensors_;
  TensorsWriter file_;
};

/// Returns the folder of the checkpoint `path`'s shards: beside it, with its name without .safetensors.
std::filesystem::path shard_folder(const std::filesystem::path& path);

/// Writes one rank's part of a checkpoint in shards and returns its entry; it is then on the disk. `layout` as for a
/// CheckpointWriter.
ShardEntry write_checkpoint_shard(const std::filesystem::path& path, std::int64_t save, const StateShard& shard,
                                  const TrainingCheckpoint& layout);
/// Writes the checkpoint itself, once all shards exist: a file without tensors, which names the shards, whole or absent.
void write_checkpoint_index(const std::filesystem::path& path, const TrainingCheckpoint& layout,
                            const std::vector<ShardEntry>& shards);

/// Reads a checkpoint of either kind. DataError names the file, and its missing or misshapen tensors, for a model and an
/// optimiser with these tensors; InputError lists the settings that differ from `settings`.
TrainingCheckpoint read_checkpoint(const std::filesystem::path& path, const std::map<std::string, std::string>& settings,
                                   const std::vector<NamedTensor>& model, const std::vector<NamedTensor>& optimizer);

}  // namespace hpcbench::train
