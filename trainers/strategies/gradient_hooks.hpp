#pragma once

#include <torch/csrc/autograd/variable.h>

#include <functional>
#include <string>
#include <vector>

#include "optim/model.hpp"

namespace hpcbench::train {

/// Hears of each parameter's gradient when backward has made it.
class GradientHooks {
 public:
  /// `arrived(parameter)` is called once in a backward pass, in the thread of the pass, when `grad` of
  /// Model::parameters[parameter] is there; before hooks that are set later.
  GradientHooks(Model& model, const std::function<void(std::size_t parameter)>& arrived);
  GradientHooks(const GradientHooks&) = delete;
  GradientHooks& operator=(const GradientHooks&) = delete;

  void begin_backward() { arrived_.assign(arrived_.size(), 0); }
  /// std::runtime_error that names the parameters whose gradient did not come.
  void require_all() const;

 private:
  const Model& model_;
  std::vector<char> arrived_;
  std::vector<decltype(torch::autograd::impl::grad_accumulator({}))>
      accumulators_;  // autograd itself keeps them only while a graph does
};

/// Throws std::runtime_error that names them, if there are any.
void refuse_unused(const std::vector<std::string>& parameters);

}  // namespace hpcbench::train
