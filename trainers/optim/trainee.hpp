#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "optim/model.hpp"

namespace hpcbench::train {

/// Where the samples of a micro-batch stand in the step's global batch: the i-th is number first_position + i * stride.
struct StepPlace {
  std::int64_t step = 1;  // optimiser step of the run, from 1
  std::int64_t first_position = 0;
  std::int64_t stride = 1;
};

/// A loss in two halves: what the host makes of the samples, and what the device computes of that.
struct LossInputs {
  at::Tensor numbers;               // int64: what is computed of; on the host, or on the device already
  std::vector<std::int64_t> shape;  // of two inputs of one shape the device does the same work, on other numbers
  /// The loss, of `numbers` on the device. It draws dropout as the halves' making seeded it: to be called before other halves
  /// are made.
  std::function<at::Tensor(const at::Tensor& there)> loss;
};

/// What is trained, as a strategy sees it: a model on one device, and its loss.
class Trainee {
 public:
  virtual ~Trainee() = default;
  virtual Model& model() = 0;
  /// Mean training loss over `samples` (int64 numbers), a scalar to be differentiated. One thread at a time.
  virtual at::Tensor loss(const at::Tensor& samples, const StepPlace& place) = 0;
  /// loss() in two halves, so that the second can be captured and replayed (StepGraph); nothing where it cannot be parted.
  virtual std::optional<LossInputs> loss_inputs(const at::Tensor& /*samples*/, const StepPlace& /*place*/) {
    return std::nullopt;
  }
  /// The fewest samples that one loss can be computed of.
  virtual std::int64_t least_batch() const { return 1; }
  /// The same once more, with weights of its own, on `place`: for several devices in one process, a thread each.
  virtual std::unique_ptr<Trainee> another(at::Device place) const = 0;
};

}  // namespace hpcbench::train
