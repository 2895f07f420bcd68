#pragma once

#include <torch/csrc/autograd/variable.h>

#include <functional>
#include <string>
#include <vector>

#include "optim/model.hpp"

namespace hpcbench::train {

/// Notifies of each parameter's gradient when backward has made it.
class GradientHooks {
 public:
  /// Calls `arrived(parameter)` once in a backward pass, in the thread of the pass, when `grad` of Model::parameters[parameter]
  /// is complete; before hooks that are set later.
  GradientHooks(Model& model, const std::function<void(std::size_t parameter)>& arrived);
  GradientHooks(const GradientHooks&) = delete;
  GradientHooks& operator=(const GradientHooks&) = delete;

  void begin_backward() { arrived_.assign(arrived_.size(), 0); }
  /// std::runtime_error that names the parameters without a gradient.
  void require_all() const;

 private:
  const Model& model_;
  std::vector<char> arrived_;
  std::vector<decltype(torch::autograd::impl::grad_accumulator({}))>
      accumulators_;  // autograd itself keeps them only as long as a graph does
};

/// Throws std::runtime_error that names them, if there are any.
void refuse_unused(const std::vector<std::string>& parameters);

}  // namespace hpcbench::train
