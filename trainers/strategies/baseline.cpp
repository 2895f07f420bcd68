#include <ATen/ops/item.h>

#include "strategies/strategy.hpp"

namespace hpcbench::train {

namespace {

/// One process, no communication: what every other strategy is compared with.
class Baseline final : public Strategy {
 public:
  explicit Baseline(const StrategyContext& context) : context_(context) {}

  void prepare(Model& model) override {
    model_ = &model;
    std::vector<at::Tensor> parameters;
    for (const NamedTensor& parameter : model.parameters) parameters.push_back(parameter.tensor);
    optimizer_.emplace(context_.optimizer, parameters);
  }

  double forward_backward(const std::function<at::Tensor()>& loss) override {
    optimizer_->clear_gradients();
    const at::Tensor value = loss();
    value.backward();
    return value.item<double>();
  }

  void optimizer_step(double lr) override { optimizer_->step(lr); }

  std::vector<NamedTensor> gather_full_state() override {
    std::vector<NamedTensor> state = model_->parameters;
    state.insert(state.end(), model_->buffers.begin(), model_->buffers.end());
    return state;
  }

  void sum_over_ranks(std::vector<double>&) override {}
  void barrier() override {}

 private:
  StrategyContext context_;
  Model* model_ = nullptr;
  std::optional<Optimizer> optimizer_;
};

}  // namespace

std::unique_ptr<Strategy> make_baseline(const StrategyContext& context) { return std::make_unique<Baseline>(context); }

}  // namespace hpcbench::train
