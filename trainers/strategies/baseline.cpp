#include <ATen/ops/item.h>

#include "strategies/whole_model.hpp"

namespace hpcbench::train {

namespace {

/// One process, no communication: what every other strategy is compared with.
class Baseline final : public WholeModel {
 public:
  using WholeModel::WholeModel;

  void prepare(Model& model) override {
    model_ = &model;
    optimizer_.emplace(context_.optimizer, model.parameters);
  }

  std::vector<double> forward_backward(const std::vector<MicroBatch>& batches) override {
    optimizer_->clear_gradients();
    std::vector<double> losses;
    for (const MicroBatch& batch : batches) {
      const at::Tensor value = batch.loss();
      (batch.scale == 1 ? value : value * batch.scale).backward();
      losses.push_back(value.item<double>());
    }
    return losses;
  }

  void sum_over_ranks(std::vector<double>&) override { context_.device->synchronise(); }
  std::vector<std::string> exchange(const std::string& text) override { return {text}; }
  void barrier() override { context_.device->synchronise(); }
};

}  // namespace

std::unique_ptr<Strategy> make_baseline(const StrategyContext& context) { return std::make_unique<Baseline>(context); }

}  // namespace hpcbench::train
