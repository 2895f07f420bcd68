#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/options.hpp"
#include "base/settings.hpp"
#include "optim/model.hpp"

namespace hpcbench::train {

/// Where the samples of a micro-batch stand in the step's global batch: the i-th is number first_position + i * stride.
struct StepPlace {
  std::int64_t step = 1;  // optimiser step of the run, from 1
  std::int64_t first_position = 0;
  std::int64_t stride = 1;
};

/// One quantity of an evaluation as a sum, so that ranks can add them up: its value is sum / weight.
struct Measure {
  std::string name;  // as in the event: val_loss, accuracy, em, f1
  double sum = 0;
  double weight = 0;
};

/// What a person should know of a run, as a line of output and a `warning` event.
struct Note {
  std::string code;
  std::string text;
};

/// What is trained: data, model and loss on one device. A task knows nothing of ranks: it is told which samples to take.
class Task {
 public:
  virtual ~Task() = default;
  /// Reads the data and makes the model; DataError names the file. Called once, before anything below.
  virtual void load() = 0;
  /// Moves the model, and what it trains on, to `places`: one, or of a task with several models one for each. Called once,
  /// after load(). A task that does not override it trains on a CPU only: InputError otherwise.
  virtual void place(const std::vector<at::Device>& places);
  /// What load() found worth saying.
  virtual std::vector<Note> notes() const = 0;
  /// What the model is, as far as the settings do not say it: names and values for run_start.
  virtual std::vector<std::pair<std::string, std::string>> facts() const { return {}; }
  virtual std::int64_t train_samples() const = 0;
  /// 0: there is nothing to validate with.
  virtual std::int64_t validation_samples() const = 0;
  /// The fewest samples that one micro-batch of one process can train on, and why.
  virtual std::int64_t least_batch() const { return 1; }
  virtual Model& model() = 0;
  /// Mean training loss over `samples` (int64 numbers below train_samples()), a scalar to be differentiated.
  virtual at::Tensor loss(const at::Tensor& samples, const StepPlace& place) = 0;
  /// Of a task with several models in one process: those but the first, and the loss on one of them (from 0). May be called
  /// by one thread per model at once.
  virtual std::vector<Model*> replicas() { return {}; }
  virtual at::Tensor loss_on(std::size_t, const at::Tensor& samples, const StepPlace& place) { return loss(samples, place); }
  /// Validates a share of the data: of what is counted as one (a sample, a question) the numbers first, first + stride ...
  /// The same measures in the same order on every rank, the first is val_loss.
  virtual std::vector<Measure> evaluate(std::int64_t first, std::int64_t stride) = 0;

  /// Tokens of training samples, without padding; absent where there are no tokens.
  virtual std::optional<std::int64_t> tokens(const at::Tensor& samples) const;
  /// The lengths of all training samples, where the task wants batches of like length; else empty.
  virtual std::vector<std::int32_t> grouping_lengths() const { return {}; }
  /// What the last evaluate() predicted, as text of this rank's own form; empty: this task keeps no predictions.
  virtual std::string own_predictions() const { return ""; }
  /// Writes the predictions of all ranks, put together, into an existing folder.
  virtual void write_predictions(const std::filesystem::path& folder, const std::vector<std::string>& of_ranks) const;
  /// Writes the model's present values into an existing folder: model.safetensors, and what belongs to it.
  virtual void write_model(const std::filesystem::path& folder, const std::vector<NamedTensor>& state) const;
};

/// One row of the table of tasks: adding a task is one folder and one row (docs/adding-a-task.md).
struct TaskRow {
  const char* name;
  std::unique_ptr<Task> (*make)(const Settings& settings);
  std::vector<TaskCommand> commands = {};  // what the program can do for this task beside training it
};
const std::vector<TaskRow>& task_rows();

/// InputError with the list of those there are.
std::unique_ptr<Task> make_task(const Settings& settings);

}  // namespace hpcbench::train
