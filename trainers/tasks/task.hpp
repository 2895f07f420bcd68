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

/// What is trained: data, model and loss on one device. A task knows nothing of ranks: it is told which samples to take, by
/// numbers below train_samples(). model(), loss() and another() are those of a Trainee.
class Task : public Trainee {
 public:
  /// Reads the data and makes the model; DataError names the file. Called once, before anything below.
  virtual void load() = 0;
  /// Where the plan leaves the kernels to the task (`automatic`, of a GPU): what its model takes, own or torch.
  virtual KernelChoice choose_kernels() const { return KernelChoice::torch; }
  /// Moves the model, and what it trains on, to a device. Called once, after load(). A task that does not override it trains on
  /// a CPU only: InputError otherwise.
  virtual void place(at::Device place);
  /// What load() found worth saying.
  virtual std::vector<Note> notes() const = 0;
  /// What the model is, as far as the settings do not say it: names and values for run_start.
  virtual std::vector<std::pair<std::string, std::string>> facts() const { return {}; }
  virtual std::int64_t train_samples() const = 0;
  /// 0: there is nothing to validate with.
  virtual std::int64_t validation_samples() const = 0;
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

/// One row of the table of tasks: adding a task is one folder and one row (docs/notes/adding-a-task.md).
struct TaskRow {
  std::string name;  // as in task_settings()
  std::unique_ptr<Task> (*make)(const Settings& settings);
  std::vector<TaskCommand> commands = {};  // what the program can do for this task beside training it
};
const std::vector<TaskRow>& task_rows();

/// InputError with the list of those there are.
std::unique_ptr<Task> make_task(const Settings& settings);

}  // namespace hpcbench::train
