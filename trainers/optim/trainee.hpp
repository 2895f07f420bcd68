#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "optim/model.hpp"

namespace hpcbench::train {

/// The position of a micro-batch's samples in the step's global batch: the i-th is number first_position + i * stride.
struct StepPlace {
  std::int64_t step = 1;  // optimiser step of the run, from 1
  std::int64_t first_position = 0;
  std::int64_t stride = 1;
};

/// A loss in two halves: the host's preparation of the samples, and the device's computation with it.
struct LossInputs {
  at::Tensor numbers;               // int64: the input of the computation, on the host or already on the device
  std::vector<std::int64_t> shape;  // for two inputs of one shape the device does the same work on other numbers
  /// Computes the loss of `numbers` on the device. Its dropout is seeded when the halves are made: call it before making other
  /// halves.
  std::function<at::Tensor(const at::Tensor& there)> loss;
};

/// A strategy's view of what is trained: a model on one device, and its loss.
class Trainee {
 public:
  virtual ~Trainee() = default;
  virtual Model& model() = 0;
  /// Returns the mean training loss over `samples` (int64 numbers), a differentiable scalar. One thread at a time.
  virtual at::Tensor loss(const at::Tensor& samples, const StepPlace& place) = 0;
  /// Returns loss() in two halves, so that the second can be captured and replayed (StepGraph); nullopt if it cannot be
  /// divided.
  virtual std::optional<LossInputs> loss_inputs(const at::Tensor& /*samples*/, const StepPlace& /*place*/) {
    return std::nullopt;
  }
  /// Returns the fewest samples for which a loss can be computed.
  virtual std::int64_t least_batch() const { return 1; }
  /// Returns a copy with its own weights, on `place`: for several devices in one process, a thread each.
  virtual std::unique_ptr<Trainee> another(at::Device place) const = 0;
};

}  // namespace hpcbench::train
