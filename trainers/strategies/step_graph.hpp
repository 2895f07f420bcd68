#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "devices/device.hpp"
#include "optim/trainee.hpp"

namespace hpcbench::train {

/// Forward and backward passes that the device repeats by itself: after some ordinary steps of one shape, the passes of the
/// next one are captured, and from then on replayed for all steps of this shape. Steps of another shape, such as an epoch's
/// short last one, are computed ordinarily. Losses and gradients have the same bits.
class StepGraph {
 public:
  StepGraph(Trainee& trainee, const Device& device) : trainee_(trainee), device_(device) {}

  /// Returns the loss, a scalar that the caller owns, and sets the gradients of the model's parameters, which had none.
  /// std::runtime_error if the trainee cannot divide its loss.
  at::Tensor forward_backward(const at::Tensor& samples, const StepPlace& place);
  /// Returns how many steps were replayed.
  std::int64_t replays() const { return replays_; }

 private:
  /// Steps before a shape is captured: libraries choose kernels and take memory at their first use of it.
  static constexpr int kStepsBefore = 2;

  at::Tensor compute(const LossInputs& inputs) const;
  void capture(const LossInputs& inputs);
  at::Tensor replay(const LossInputs& inputs);

  Trainee& trainee_;
  const Device& device_;
  std::vector<std::int64_t> shape_;         // of the counted or captured steps
  int seen_ = 0;                            // consecutive steps of this shape
  at::Tensor there_;                        // the input of replays
  std::unique_ptr<CapturedWork> captured_;  // its results: the loss, then the gradients
  std::int64_t replays_ = 0;
};

}  // namespace hpcbench::train
