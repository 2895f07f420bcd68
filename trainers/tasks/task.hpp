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
#include "optim/trainee.hpp"

namespace hpcbench::train {

/// One quantity of an evaluation as a sum, so that ranks can add them: its value is sum / weight.
struct Measure {
  std::string name;  // as in the event: val_loss, accuracy, em, f1
  double sum = 0;
  double weight = 0;
};

/// A note about a run for the user, as a line of output and a `warning` event.
struct Note {
  std::string code;
  std::string text;
};

/// Data, model and loss on one device. A task knows nothing of ranks: the caller names the samples by numbers below
/// train_samples(). model(), loss() and another() are those of a Trainee.
class Task : public Trainee {
 public:
  /// Reads the data and makes the model; DataError names the file. Called once, before any function below.
  virtual void load() = 0;
  /// Returns own or torch, by what its model supports, if the plan leaves the kernels on a GPU to the task (`automatic`).
  virtual KernelChoice choose_kernels() const { return KernelChoice::torch; }
  /// Moves the model and its training data to a device. Called once, after load(). A task that does not override it trains on a
  /// CPU only: InputError otherwise.
  virtual void place(at::Device place);
  /// Returns the notes of load().
  virtual std::vector<Note> notes() const = 0;
  /// Returns facts of the model that the settings do not contain: names and values for run_start.
  virtual std::vector<std::pair<std::string, std::string>> facts() const { return {}; }
  virtual std::int64_t train_samples() const = 0;
  /// Returns the number of samples for validation; 0: none.
  virtual std::int64_t validation_samples() const = 0;
  /// Validates a share of the data: its units (samples or questions) number first, first + stride ... The same measures in the
  /// same order on every rank; the first is val_loss.
  virtual std::vector<Measure> evaluate(std::int64_t first, std::int64_t stride) = 0;

  /// Returns the number of tokens of training samples, without padding; nullopt if there are no tokens.
  virtual std::optional<std::int64_t> tokens(const at::Tensor& samples) const;
  /// Returns the lengths of all training samples if the task requires batches of similar length; else empty.
  virtual std::vector<std::int32_t> grouping_lengths() const { return {}; }
  /// Returns the predictions of the last evaluate(), as text of this rank in the task's own form; empty: this task keeps no
  /// predictions.
  virtual std::string own_predictions() const { return ""; }
  /// Writes the joined predictions of all ranks into an existing folder.
  virtual void write_predictions(const std::filesystem::path& folder, const std::vector<std::string>& of_ranks) const;
  /// Writes the model's present values into an existing folder: model.safetensors, and its companion files.
  virtual void write_model(const std::filesystem::path& folder, const std::vector<NamedTensor>& state) const;
};

/// One row of the table of tasks: a new task is one folder and one row (docs/notes/adding-a-task.md).
struct TaskRow {
  std::string name;  // as in task_settings()
  std::unique_ptr<Task> (*make)(const Settings& settings);
  std::vector<TaskCommand> commands = {};  // further commands of the program for this task
};
const std::vector<TaskRow>& task_rows();

/// InputError with the list of existing tasks.
std::unique_ptr<Task> make_task(const Settings& settings);

}  // namespace hpcbench::train
