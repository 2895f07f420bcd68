#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "optim/model.hpp"

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

/// Writes a file that is whole or absent. DataError if that fails.
void write_checkpoint(const std::filesystem::path& path, const TrainingCheckpoint& checkpoint);

/// DataError names the file, and what is missing in it or misshapen, for a model and an optimiser with these tensors;
/// InputError lists the settings that differ from `settings`.
TrainingCheckpoint read_checkpoint(const std::filesystem::path& path, const std::map<std::string, std::string>& settings,
                                   const std::vector<NamedTensor>& model, const std::vector<NamedTensor>& optimizer);

}  // namespace hpcbench::train
