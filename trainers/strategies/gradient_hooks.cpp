#include "strategies/gradient_hooks.hpp"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>

#include "base/text.hpp"

namespace hpcbench::train {

GradientHooks::GradientHooks(Model& model, const std::function<void(std::size_t parameter)>& arrived)
    : model_(model), arrived_(model.parameters.size()) {
  using torch::autograd::variable_list;
  for (std::size_t parameter = 0; parameter < arrived_.size(); ++parameter) {
    auto accumulator = torch::autograd::impl::grad_accumulator(model.parameters[parameter].tensor);
    accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
        [this, parameter, arrived](const variable_list& outputs, const variable_list&) {
          arrived_[parameter] = 1;
          arrived(parameter);
          return outputs;
        }));
    accumulators_.push_back(std::move(accumulator));
  }
}

void GradientHooks::require_all() const {
  std::vector<std::string> unused;
  for (std::size_t parameter = 0; parameter < arrived_.size(); ++parameter) {
    if (!arrived_[parameter]) unused.push_back(model_.parameters[parameter].name);
  }
  refuse_unused(unused);
}

void refuse_unused(const std::vector<std::string>& parameters) {
  if (parameters.empty()) return;
  throw std::runtime_error(concat("the loss does not depend on ", join(parameters, ", "),
                                  ": a parameter without a gradient cannot be trained; take it out of the model, or use the "
                                  "strategy baseline"));
}

}  // namespace hpcbench::train
