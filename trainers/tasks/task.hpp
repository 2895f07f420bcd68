#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/settings.hpp"
#include "tasks/model.hpp"

namespace hpcbench::train {

/// Where the samples of a process stand in the step's global batch: its i-th is number first_position + i * stride.
struct StepPlace {
  std::int64_t step = 1;  // optimiser step of the run, from 1
  std::int64_t first_position = 0;
  std::int64_t stride = 1;
};

/// Sums over samples, so that ranks can add them up.
struct EvaluationSums {
  double loss = 0;
  double correct = 0;
  double samples = 0;
};

/// What is trained: data, model and loss on one device. A task knows nothing of ranks: it is told which samples to take.
class Task {
 public:
  virtual ~Task() = default;
  /// Reads the data; DataError names the file. Called once, before anything below.
  virtual void load() = 0;
  /// What a person should know about the data that load() found.
  virtual std::optional<std::string> note() const = 0;
  virtual std::int64_t train_samples() const = 0;
  virtual std::int64_t validation_samples() const = 0;
  /// The fewest samples that one step of one process can train on.
  virtual std::int64_t least_batch() const = 0;
  virtual Model& model() = 0;
  /// Mean training loss over `samples` (int64 numbers below train_samples()), a scalar to be differentiated.
  virtual at::Tensor loss(const at::Tensor& samples, const StepPlace& place) = 0;
  /// Validates the samples first, first + stride, ... below validation_samples().
  virtual EvaluationSums evaluate(std::int64_t first, std::int64_t stride) = 0;
};

/// One row of the table of tasks: adding a task is one folder and one row (docs/adding-a-task.md).
struct TaskRow {
  const char* name;
  std::unique_ptr<Task> (*make)(const Settings& settings);
};
const std::vector<TaskRow>& task_rows();

/// InputError with the list of those there are.
std::unique_ptr<Task> make_task(const Settings& settings);

}  // namespace hpcbench::train
